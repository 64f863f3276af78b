// fp16.cuh: half-precision numbers, two packed in a 32-bit register.
//
// A float x is split into `high` (x rounded to fp16) and `low` (the remainder rounded to fp16). If two floats have
// magnitudes between 2^-3 and 2^15, high*high + high*low + low*high approximates their product with a relative error of
// about 2^-23.
#pragma once
#include "finite.cuh"

#ifndef AUTOTUNE_EMULATOR

// pack_fp16x2 rounds two floats to fp16 (to nearest, ties to even) and packs them into a register.
__device__ __forceinline__ unsigned pack_fp16x2(float low, float high) {
    unsigned packed;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#else
    asm("{.reg .b16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2; mov.b32 %0, {low, high};}" : "=r"(packed) : "f"(low), "f"(high));
#endif
    return packed;
}

__device__ __forceinline__ float fp16_low(unsigned packed) {
    float value;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(value) : "r"(packed));
    return value;
}
__device__ __forceinline__ float fp16_high(unsigned packed) {
    float value;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, high;}" : "=f"(value) : "r"(packed));
    return value;
}

#else
#include <emulated/fp16.cuh>
#endif

// split_fp16x2 splits two floats into fp16 values (`rounded`) and fp16 remainders (`rest`).
constexpr float kMostFp16 = 65504.0f;
__device__ __forceinline__ void split_fp16x2(float a, float b, unsigned& rounded, unsigned& rest) {
    rounded = pack_fp16x2(bounded(a, kMostFp16), bounded(b, kMostFp16));
    rest = pack_fp16x2(a - fp16_low(rounded), b - fp16_high(rounded));
}
