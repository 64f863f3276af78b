// elements.cuh: extracts an operand of the emulated tensor cores from a 32-bit word: one TF32 element, or one of two
// 16-bit elements.
#pragma once
#include "../small_floats.h"

// Tensor cores ignore the lowest 13 bits of a float in TF32.
inline float emulated_tf32(unsigned bits, int) { return __uint_as_float(bits & 0xffffe000u); }
inline float emulated_bf16(unsigned pair, int upper) { return __uint_as_float(upper ? pair & 0xffff0000u : pair << 16); }
inline float emulated_fp16(unsigned pair, int upper) { return (float)AutotuneFormat<5, 10>::number(upper ? pair >> 16 : pair & 0xffffu); }
