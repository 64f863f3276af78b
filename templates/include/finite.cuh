// finite.cuh: floats that may be infinite or NaN, where they are multiplied.
#pragma once

__device__ __forceinline__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7fffffffu) < 0x7f800000u; }

// bounded is what a float's first part is made of: the last part of an infinity or a NaN has to be
// one, where infinity - infinity would be no infinity.
__device__ __forceinline__ float bounded(float x, float most) { return fminf(fmaxf(x, -most), most); }
