// bf16.cuh: bfloat16 numbers, two packed in a 32-bit register.
//
// A float x is split into `high` (x rounded to bfloat16) and `low` (the remainder rounded to bfloat16). For floats
// split into `high` and `low`, high*high + high*low + low*high approximates their product with a relative error of
// about 2^-16.
#pragma once
#include "finite.cuh"

// pack_bf16x2 rounds two floats to bfloat16 (to nearest, ties to even) and packs them into a register.
__device__ __forceinline__ unsigned pack_bf16x2(float low, float high) {
#if !defined(AUTOTUNE_EMULATOR) && __CUDA_ARCH__ >= 800
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
#else
    unsigned halves[2] = {__float_as_uint(low), __float_as_uint(high)};
    for (int i = 0; i < 2; ++i) {
        const unsigned bits = halves[i];
        const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
        halves[i] = nan ? 0x7fffu : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    }
    return halves[1] << 16 | halves[0];
#endif
}

__device__ __forceinline__ float bf16_low(unsigned packed) { return __uint_as_float(packed << 16); }
__device__ __forceinline__ float bf16_high(unsigned packed) { return __uint_as_float(packed & 0xffff0000u); }

// split_bf16x2 splits two floats into bfloat16 values (`rounded`) and bfloat16 remainders (`rest`).
constexpr float kMostBf16 = 0x1.fep127f;
__device__ __forceinline__ void split_bf16x2(float a, float b, unsigned& rounded, unsigned& rest) {
    rounded = pack_bf16x2(bounded(a, kMostBf16), bounded(b, kMostBf16));
    rest = pack_bf16x2(a - bf16_low(rounded), b - bf16_high(rounded));
}
