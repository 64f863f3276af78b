// power_scale.cuh: powers of two that scale the operands of products into the range of fp16. Scaling by a power of two
// is exact, and parts of fp16 (slab_operands.cuh) of scaled operands are accurate whatever the operands' magnitude. The
// packing kernels multiply operands by a power, and epilogues multiply outputs by its inverse.
#pragma once
#include "element.cuh"
#include "finite.cuh"

// FLOAT_PARTS selects how kernels that pack floats represent them (slab_operands.cuh), and kScaled says whether
// operands are multiplied by powers of two.
#ifdef SCALED
#define FLOAT_PARTS (!MATH_TF32 ? two_fp16 : SCALED ? one_fp16 : one_tf32)
constexpr bool kScaled = !kOf16Bits && (!MATH_TF32 || SCALED);
#endif

// as_magnitude returns the magnitude of x as bits that are ordered like integers. For infinities and NaNs as_magnitude
// returns 0, since scaling does not change them.
__device__ __forceinline__ unsigned as_magnitude(float x) { return is_finite(x) ? __float_as_uint(x) & 0x7fffffffu : 0; }

// PowerScale is the power of two that brings the largest magnitude `most` between 2^14 and 2^15, as far as a float can
// represent that power, and its inverse.
struct PowerScale {
    float power, inverse;
    __device__ __forceinline__ explicit PowerScale(unsigned most) {
        const unsigned exponent = 127 + 14 + 127 - (most >> 23), highest = 127 + 126;  // biased exponents
        power = __uint_as_float((exponent < highest ? exponent : highest) << 23);
        inverse = __uint_as_float((2 * 127 - (exponent < highest ? exponent : highest)) << 23);
    }
};

// unscaled divides a sum of products by the powers of two that scaled both operands. unscaled multiplies by the smaller
// inverse first, since the product of both inverses might be out of the range of floats.
__device__ __forceinline__ float unscaled(float sum, float inverse, float other) {
    return sum * fminf(inverse, other) * fmaxf(inverse, other);
}
