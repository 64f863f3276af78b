// factor.cuh: how the math mode rounds a factor of a product before it is multiplied.
#pragma once
#include "tf32.cuh"

// factor rounds a value to TF32 in math mode tf32; in fp32 it returns the value unchanged.
__device__ __forceinline__ float factor(float value) {
#if MATH_TF32
    return tf32_value(value);
#else
    return value;
#endif
}
