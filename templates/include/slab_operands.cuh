// slab_operands.cuh: the layout in which warpgroup products read their operands. The layout is the same in global as in
// shared memory, so that bulk copies are enough to load operands.
//
// Both operands are divided into steps of 16 elements of k. A step consists of slabs; a slab holds 16 bytes of each row
// or column, side by side:
//
//   one_tf32:       four slabs; slab s has the elements 4*s to 4*s + 3, rounded to TF32.
//   parts:          two slabs per part; slabs 2*p and 2*p + 1 have part p of the elements
//                   0 to 7 and 8 to 15. Products of parts replace products of floats:
//
//     parts           number represented              products  relative error of a product
//     one_bf16, one_fp16  an element of 16 bits           1         none
//     one_fp16        a float rounded to TF32, times a    1         none, if it is at least 2^-14
//                     power of two (power_scale.cuh)
//     two_fp16        22 bits of a float, times a         3         about 2^-23, if the line's
//                     power of two                                  largest element is near 2^15
//     three_bf16      all 24 bits of a float              6         about 2^-23.
//
//                   An element of 16 bits is a single part. MATH_TF32 decides whether floats are represented as
//                   one_tf32 or three_bf16, unless a kernel defines FLOAT_PARTS before it includes this file.
//
// A's rows come in blocks of 64; a step of such a block is contiguous. B's columns come in planes; a slab of a plane
// holds all columns of the plane. Two columns that are a constant number of columns apart are therefore a constant
// number of bytes apart in memory. SLAB_BYTES, which op.yaml derives, is the size in bytes of a step of one row or
// column.
#pragma once
#include "element.cuh"
#include "tf32.cuh"

enum Parts { one_tf32, one_bf16, one_fp16, two_fp16, three_bf16 };
#ifndef FLOAT_PARTS
#define FLOAT_PARTS (MATH_TF32 ? one_tf32 : three_bf16)
#endif
constexpr Parts kOfParts = kOfBf16 ? one_bf16 : kOf16Bits ? one_fp16 : FLOAT_PARTS;

constexpr bool kAreBf16 = kOfParts == one_bf16 || kOfParts == three_bf16;
constexpr int kPartCount = kOfParts == three_bf16 ? 3 : kOfParts == two_fp16 ? 2 : 1;
constexpr int kStepDepth = 16;                             // elements of k
constexpr int kSlabs = SLAB_BYTES / 16;                    // of a step
constexpr int kBlockRows = 64;                             // of A
constexpr int kBlockStepBytes = kBlockRows * SLAB_BYTES;   // a step of a block

// split_pair splits two floats into parts, the largest part first.
__device__ __forceinline__ void split_pair(float a, float b, unsigned (&parts)[1]) {
    parts[0] = kAreBf16 ? pack_bf16x2(a, b) : pack_fp16x2(a, b);
}
__device__ __forceinline__ void split_pair(float a, float b, unsigned (&parts)[2]) {
    split_fp16x2(a, b, parts[0], parts[1]);
}
__device__ __forceinline__ void split_pair(float a, float b, unsigned (&parts)[3]) {
    parts[0] = pack_bf16x2(bounded(a, kMostBf16), bounded(b, kMostBf16));
    split_bf16x2(a - bf16_low(parts[0]), b - bf16_high(parts[0]), parts[1], parts[2]);
}

// store_half writes half a step, eight elements, of one row or column. `first` is where slab 0 of the row or column is,
// and slabs are `apart` bytes apart.
__device__ __forceinline__ void store_half(char* first, long long apart, int half, const float (&v)[8]) {
    if constexpr (kOfParts == one_tf32) {
#pragma unroll
        for (int s = 0; s < 2; ++s)
            *reinterpret_cast<uint4*>(first + (2 * half + s) * apart) =
                make_uint4(round_to_tf32(v[4 * s]), round_to_tf32(v[4 * s + 1]), round_to_tf32(v[4 * s + 2]), round_to_tf32(v[4 * s + 3]));
    } else {
        unsigned pairs[4][kPartCount];
#pragma unroll
        for (int i = 0; i < 4; ++i) split_pair(v[2 * i], v[2 * i + 1], pairs[i]);
#pragma unroll
        for (int p = 0; p < kPartCount; ++p)
            *reinterpret_cast<uint4*>(first + (2 * p + half) * apart) = make_uint4(pairs[0][p], pairs[1][p], pairs[2][p], pairs[3][p]);
    }
}
