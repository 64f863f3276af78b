// slab_operands.cuh: the layout of operands A and B for wgmma, the same in global as in shared memory, so that plain
// bulk copies load them. A float may be split into two or three 16-bit values, called parts.
//
// k is divided into steps of 16 elements. A step consists of slabs; a slab holds 16 bytes of each row of A (column of
// B). For one_tf32, a step has four slabs of four elements each. In all other formats, a step has two slabs per part,
// for elements 0 to 7 and 8 to 15.
//
// A's rows are stored in blocks of 64, whose steps are contiguous. A slab of B holds all columns of the matrix, so
// that neighbouring columns are 16 bytes apart. SLAB_BYTES is the size in bytes of a step of one row or column.
//
// Products of parts replace products of floats:
//
//     parts           number represented              products  relative error of a product
//     one_bf16, one_fp16  an element of 16 bits           1         none
//     one_fp16        a float rounded to TF32, times a    1         none, if it is at least 2^-14
//                     power of two (power_scale.cuh)
//     two_fp16        22 bits of a float, times a         3         about 2^-23, if the row's or
//                     power of two                                  column's maximum is near 2^15
//     three_bf16      all 24 bits of a float              6         about 2^-23
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

// split_pair splits two floats into 16-bit parts, the most significant part first.
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

// store_half stores eight elements of one row or column, which are half a step. `first` points to the row or column
// in slab 0, and slabs are `apart` bytes apart.
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
