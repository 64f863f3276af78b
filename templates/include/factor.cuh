// factor.cuh: rounds the operands of multiplications as the math mode requires.
#pragma once
#include "tf32.cuh"

// factor rounds a value to TF32 in math mode tf32; in math mode fp32 it returns the value unchanged.
__device__ __forceinline__ float factor(float value) {
#if MATH_TF32
    return tf32_value(value);
#else
    return value;
#endif
}
