// finite.cuh: helpers for floats that may be infinite or NaN.
#pragma once

__device__ __forceinline__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7fffffffu) < 0x7f800000u; }

// bounded clamps x to [-most, most] before x is split into a rounded part and a remainder; an infinite x would
// otherwise leave a NaN.
__device__ __forceinline__ float bounded(float x, float most) { return fminf(fmaxf(x, -most), most); }
