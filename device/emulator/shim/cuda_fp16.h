// cuda_fp16.h: half precision.
#pragma once
#include "small_floats.h"

struct __half_raw { unsigned short x; };
struct __attribute__((aligned(2))) __half {
  typedef AutotuneFormat<5, 10> AutotuneHalf;
  AUTOTUNE_HALF_MEMBERS(__half, AutotuneHalf)
  __half(__half_raw raw) : __x(raw.x) {}
  operator __half_raw() const { return __half_raw{__x}; }
};
typedef __half half;
AUTOTUNE_PAIR(__half, __half2)
typedef __half2 half2;

AUTOTUNE_HALF_FUNCTIONS(__half, __half2)
AUTOTUNE_HALF_CONVERSIONS(__half, half)

inline __half2 make_half2(__half a, __half b) { return __half2(a, b); }
inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
inline __half2 __half2half2(__half a) { return __half2(a, a); }
inline __half2 __float2half2_rn(float a) { return __half2(__half(a), __half(a)); }
inline __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
inline __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
inline float2 __half22float2(__half2 a) { return make_float2(float(a.x), float(a.y)); }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
inline __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
inline __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
inline __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }

AUTOTUNE_NUMBER(__half, "__half")
AUTOTUNE_NAME(__half2, "__half", false)
