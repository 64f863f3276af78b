// limits.cuh: the values of float that are no numbers. NVRTC brings no standard
// headers, and so neither INFINITY nor NAN.
#pragma once

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

__device__ __forceinline__ float positive_infinity() { return __int_as_float(0x7f800000); }
__device__ __forceinline__ float negative_infinity() { return __int_as_float((int)0xff800000u); }
__device__ __forceinline__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7fffffffu) < 0x7f800000u; }

// bounded is what a float's first part is made of: the last part of an infinity or a NaN has to be
// one, where infinity - infinity would be no infinity.
__device__ __forceinline__ float bounded(float x, float most) { return fminf(fmaxf(x, -most), most); }
