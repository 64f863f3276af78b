// fp16.cuh, emulated: conversions between float and half precision.
#pragma once
#include "elements.cuh"

inline float fp16_low(unsigned packed) { return emulated_fp16(packed, 0); }
inline float fp16_high(unsigned packed) { return emulated_fp16(packed, 1); }
inline unsigned pack_fp16x2(float low, float high) { return AutotuneFormat<5, 10>::code(low) | AutotuneFormat<5, 10>::code(high) << 16; }
