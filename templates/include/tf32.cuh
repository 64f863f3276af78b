// tf32.cuh: rounds floats to TF32, which has 10 bits of mantissa. If two TF32 values are equally near, the math mode
// selects the one away from zero or the one whose last bit is 0 (ties to even), as different cuDNN kernels do.
#pragma once

enum class Ties { away, even };
#if MATH_TF32_EVEN
constexpr Ties kTies = Ties::even;
#else
constexpr Ties kTies = Ties::away;
#endif

#if defined(AUTOTUNE_EMULATOR) || !defined(__CUDA_ARCH__)
constexpr int kConvertingArch = 0;  // no GPU has an instruction
#else
constexpr int kConvertingArch = __CUDA_ARCH__;
#endif

// round_to_tf32 returns the bits of x, rounded to TF32, as an operand of mma.cuh.
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
        // Rounding adds half a unit of the last remaining digit to the bits. For ties to even, a little less than
        // half a unit is added if the last remaining bit is 0.
        const unsigned bits = __float_as_uint(x);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;  // NaN
        if ((bits & 0x7f800000u) == 0x7f800000u) return bits;        // infinity
        return (bits + (To == Ties::away ? 0x1000u : 0xfffu + (bits >> 13 & 1u))) & 0xffffe000u;
    }
}

__device__ __forceinline__ float tf32_value(float x) { return __uint_as_float(round_to_tf32(x)); }
