// power_scale.cuh: powers of two that scale the operands of matrix products into the range of fp16, which is exact.
// The packing kernels multiply operands by a power of two, and epilogues multiply outputs by its inverse.
#pragma once
#include "element.cuh"
#include "finite.cuh"

// FLOAT_PARTS selects the number and type of the 16-bit values into which each float is split (slab_operands.cuh).
// kScaled says whether operands are scaled by powers of two.
#ifdef SCALED
#define FLOAT_PARTS (!MATH_TF32 ? two_fp16 : SCALED ? one_fp16 : one_tf32)
constexpr bool kScaled = !kOf16Bits && (!MATH_TF32 || SCALED);
#endif

// as_magnitude returns the bits of |x|, which are ordered like integers, or 0 if x is infinite or NaN.
__device__ __forceinline__ unsigned as_magnitude(float x) { return is_finite(x) ? __float_as_uint(x) & 0x7fffffffu : 0; }

// PowerScale is the power of two that scales the largest magnitude `most` to between 2^14 and 2^15, and its inverse.
struct PowerScale {
    float power, inverse;
    __device__ __forceinline__ explicit PowerScale(unsigned most) {
        const unsigned exponent = 127 + 14 + 127 - (most >> 23), highest = 127 + 126;  // biased exponents
        power = __uint_as_float((exponent < highest ? exponent : highest) << 23);
        inverse = __uint_as_float((2 * 127 - (exponent < highest ? exponent : highest)) << 23);
    }
};

// unscaled divides a dot product by the powers of two that scaled both operands. The smaller inverse is multiplied
// first, since the product of both inverses might overflow.
__device__ __forceinline__ float unscaled(float sum, float inverse, float other) {
    return sum * fminf(inverse, other) * fmaxf(inverse, other);
}
