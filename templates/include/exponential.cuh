// exponential.cuh: computes exponentials as powers of two.
#pragma once

constexpr float kLog2E = 1.4426950408889634f;

__device__ __forceinline__ float power_of_two(float x) {
#ifndef AUTOTUNE_EMULATOR
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}
