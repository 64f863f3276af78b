// slab_operands.cuh: the form that warpgroup products take their operands in, in memory
// as in shared memory, so that a bulk copy is all it takes to fetch them.
//
// Both operands are steps of 16 elements of k. A step is four slabs; a slab holds 16
// bytes of each row or column, side by side:
//
//   MATH_TF32 = 1   slab s: elements 4*s .. 4*s + 3, rounded to TF32
//   MATH_TF32 = 0   slabs 0 and 1: the high parts of elements 0 .. 7 and 8 .. 15 as
//                   bf16, slabs 2 and 3: the low parts; three products of parts give
//                   nearly fp32's accuracy (bf16.cuh)
//
// A's rows come in blocks of 64, of which a step is 4 KB in one piece. B's columns come
// in planes, of which a slab is as long as there are columns: a column that lies a
// constant further on is a constant further on in memory.
#pragma once
#include "bf16.cuh"
#include "tf32.cuh"

constexpr int kStepDepth = 16;                  // elements of k
constexpr int kBlockRows = 64;                  // of A
constexpr int kBlockStepBytes = kBlockRows * 64;  // a step of a block

// store_half writes a half of a step, eight elements, for one row or column; slabs are
// `apart` bytes apart, and `first` is where the row's or column's slab 0 is.
__device__ __forceinline__ void store_half(char* first, long long apart, int half, const float (&v)[8]) {
    uint4 a, b;
#if MATH_TF32
    a = make_uint4(round_to_tf32(v[0]), round_to_tf32(v[1]), round_to_tf32(v[2]), round_to_tf32(v[3]));
    b = make_uint4(round_to_tf32(v[4]), round_to_tf32(v[5]), round_to_tf32(v[6]), round_to_tf32(v[7]));
    char* const to = first + 2 * half * apart;
    constexpr int between = 1;
#else
    split_bf16x2(v[0], v[1], a.x, b.x);
    split_bf16x2(v[2], v[3], a.y, b.y);
    split_bf16x2(v[4], v[5], a.z, b.z);
    split_bf16x2(v[6], v[7], a.w, b.w);
    char* const to = first + half * apart;
    constexpr int between = 2;
#endif
    *reinterpret_cast<uint4*>(to) = a;
    *reinterpret_cast<uint4*>(to + between * apart) = b;
}
