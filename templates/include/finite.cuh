// finite.cuh: helpers for multiplying floats that may be infinite or NaN.
#pragma once

__device__ __forceinline__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7fffffffu) < 0x7f800000u; }

// bounded clamps x to [-most, most] before x is split into a rounded part and a remainder. Without the clamp, the
// remainder of an infinite x would be NaN (infinity - infinity) instead of infinity.
__device__ __forceinline__ float bounded(float x, float most) { return fminf(fmaxf(x, -most), most); }
