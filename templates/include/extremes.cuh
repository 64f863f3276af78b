// extremes.cuh: the maximum of two numbers, which is NaN if either of them is NaN.
#pragma once

__device__ __forceinline__ double larger_or_nan(double a, double b) { return b > a || b != b ? b : a; }
__device__ __forceinline__ float larger_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    return b > a || b != b ? b : a;
#endif
}
