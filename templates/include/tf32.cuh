// tf32.cuh: TF32, a float with 10 bits of mantissa: what tensor cores multiply
// when asked for float. Rounding to it is to the nearest, ties away from zero,
// as cuDNN and PyTorch do.
#pragma once

// round_to_tf32 gives the bits of x rounded; as a float they are the rounded
// value, and as a register an operand of mma.cuh.
__device__ __forceinline__ unsigned round_to_tf32(float x) {
#if !defined(AUTOTUNE_EMULATOR) && __CUDA_ARCH__ >= 800
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
#else
    // Half a unit is added to the magnitude; the carry may reach the exponent,
    // up to infinity, as it should.
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu; // NaN
    if ((bits & 0x7f800000u) == 0x7f800000u) return bits;       // infinity
    return (bits + 0x1000u) & 0xffffe000u;
#endif
}

__device__ __forceinline__ float tf32_value(float x) { return __uint_as_float(round_to_tf32(x)); }
