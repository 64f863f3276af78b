// factor.cuh: what the math mode makes of a factor before it is multiplied.
#pragma once
#include "tf32.cuh"

// factor rounds a value to TF32 in math mode tf32 and leaves it alone in fp32.
__device__ __forceinline__ float factor(float value) {
#if MATH_TF32
    return tf32_value(value);
#else
    return value;
#endif
}
