// finite.cuh: helpers for multiplying floats that may be infinite or NaN.
#pragma once

__device__ __forceinline__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7fffffffu) < 0x7f800000u; }

// bounded clamps x to [-most, most] before the first of its 16-bit parts is split off, so that the last part of an
// infinity or a NaN is infinite or NaN, too. Without clamping, the last part of an infinity would be infinity -
// infinity, which is NaN.
__device__ __forceinline__ float bounded(float x, float most) { return fminf(fmaxf(x, -most), most); }
