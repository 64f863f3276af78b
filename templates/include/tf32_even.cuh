// tf32_even.cuh: in place of tf32.cuh in math mode tf32_even, where a factor half way
// between two values goes to the one whose last bit is 0. cuDNN rounds thus in some of
// its kernels, and ties away from zero in others.
#pragma once

// round_to_tf32 gives the bits of x rounded; as a float they are the rounded
// value, and as a register an operand of mma.cuh.
__device__ __forceinline__ unsigned round_to_tf32(float x) {
#if !defined(AUTOTUNE_EMULATOR) && __CUDA_ARCH__ >= 900
    unsigned rounded;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
#else
    // Just under half a unit is added to the magnitude, and the rest of the half where the
    // last bit that stays is 1; the carry may reach the exponent, up to infinity.
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu; // NaN
    if ((bits & 0x7f800000u) == 0x7f800000u) return bits;       // infinity
    return (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
#endif
}

__device__ __forceinline__ float tf32_value(float x) { return __uint_as_float(round_to_tf32(x)); }
