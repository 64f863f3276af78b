// power_scale.cuh: powers of two that bring factors into the range of fp16. Then parts of it
// (slab_operands.cuh) keep what is asked of them whatever the factors' magnitude: a power of two
// changes no digit. Whoever packs factors multiplies them by theirs, and outputs are multiplied
// by the inverses.
#pragma once
#include "element.cuh"
#include "finite.cuh"

// What kernels that pack floats multiply (slab_operands.cuh), and whether times powers of two.
#ifdef SCALED
#define FLOAT_PARTS (!MATH_TF32 ? two_fp16 : SCALED ? one_fp16 : one_tf32)
constexpr bool kScaled = !kOf16Bits && (!MATH_TF32 || SCALED);
#endif

// as_magnitude orders magnitudes as integers. Infinities and NaNs count as 0: they remain what they
// are, times anything.
__device__ __forceinline__ unsigned as_magnitude(float x) { return is_finite(x) ? __float_as_uint(x) & 0x7fffffffu : 0; }

// PowerScale brings factors whose largest magnitude is `most` between 2^14 and 2^15, as far as powers
// of two reach.
struct PowerScale {
    float power, inverse;
    __device__ __forceinline__ explicit PowerScale(unsigned most) {
        const unsigned exponent = 127 + 14 + 127 - (most >> 23), highest = 127 + 126;  // as floats have them
        power = __uint_as_float((exponent < highest ? exponent : highest) << 23);
        inverse = __uint_as_float((2 * 127 - (exponent < highest ? exponent : highest)) << 23);
    }
};

// unscaled takes two factors' powers of two off a sum again. The smaller inverse comes first: the
// factors may be as far apart as floats go, where their product is not.
__device__ __forceinline__ float unscaled(float sum, float inverse, float other) {
    return sum * fminf(inverse, other) * fmaxf(inverse, other);
}
