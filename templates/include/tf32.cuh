// tf32.cuh: TF32, a float with 10 bits of mantissa: what tensor cores multiply when asked for float. Rounding to it
// is to the nearest. Of two that are as near, cuDNN takes the one away from zero in some of its kernels, and in
// others the even one, whose last bit is 0. The math mode says which.
#pragma once

enum class Ties { away, even };
#if MATH_TF32_EVEN
constexpr Ties kTies = Ties::even;
#else
constexpr Ties kTies = Ties::away;
#endif

#if defined(AUTOTUNE_EMULATOR) || !defined(__CUDA_ARCH__)
constexpr int kConvertingArch = 0;  // none has an instruction
#else
constexpr int kConvertingArch = __CUDA_ARCH__;
#endif

// round_to_tf32 gives the bits of x rounded; as a float they are the rounded
// value, and as a register an operand of mma.cuh.
template <Ties To = kTies>
__device__ __forceinline__ unsigned round_to_tf32(float x) {
    if constexpr (kConvertingArch >= (To == Ties::away ? 800 : 900)) {
        unsigned rounded;
        if constexpr (To == Ties::away)
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
        else
            asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
        return rounded;
    } else {
        // Half a unit is added to the magnitude. Ties to even get just under half, and the rest where the last bit that
        // stays is 1. The carry may reach the exponent, up to infinity, as it should.
        const unsigned bits = __float_as_uint(x);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;  // NaN
        if ((bits & 0x7f800000u) == 0x7f800000u) return bits;        // infinity
        return (bits + (To == Ties::away ? 0x1000u : 0xfffu + (bits >> 13 & 1u))) & 0xffffe000u;
    }
}

__device__ __forceinline__ float tf32_value(float x) { return __uint_as_float(round_to_tf32(x)); }
