// elements.cuh: the elements of what the emulated tensor cores multiply, from the registers or words
// that hold them: one of TF32, or a lower and an upper one of 16 bits.
#pragma once
#include "../bits.h"
#include "../small_floats.h"

// Tensor cores ignore the 13 bits that TF32 lacks.
inline float emulated_tf32(unsigned bits, int) { return __uint_as_float(bits & 0xffffe000u); }
inline float emulated_bf16(unsigned pair, int upper) { return __uint_as_float(upper ? pair & 0xffff0000u : pair << 16); }

// As AutotuneFormat<5, 10>::number, faster: it is most of what a product does.
inline float emulated_fp16(unsigned pair, int upper) {
    const unsigned code = upper ? pair >> 16 : pair & 0xffffu, magnitude = code & 0x7fffu;
    const float value = magnitude < 0x400u    ? (float)magnitude * 0x1p-24f  // below the smallest normal number
                        : magnitude < 0x7c00u ? __uint_as_float((magnitude << 13) + (112u << 23))
                                              : __uint_as_float(magnitude << 13 | 0x7f800000u);
    return code & 0x8000u ? -value : value;
}
