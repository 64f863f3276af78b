// cuda_bf16.h: a float's upper half.
#pragma once
#include "small_floats.h"

struct __nv_bfloat16_raw { unsigned short x; };
struct __attribute__((aligned(2))) __nv_bfloat16 {
  typedef AutotuneFormat<8, 7> AutotuneBfloat;
  AUTOTUNE_HALF_MEMBERS(__nv_bfloat16, AutotuneBfloat)
  __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
};
typedef __nv_bfloat16 nv_bfloat16;
AUTOTUNE_PAIR(__nv_bfloat16, __nv_bfloat162)
typedef __nv_bfloat162 nv_bfloat162;

AUTOTUNE_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
AUTOTUNE_HALF_CONVERSIONS(__nv_bfloat16, bfloat16)

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
inline __nv_bfloat162 __float2bfloat162_rn(float a) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(a)); }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b)); }
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2(float(a.x), float(a.y)); }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }

AUTOTUNE_NUMBER(__nv_bfloat16, "__nv_bfloat16")
AUTOTUNE_NAME(__nv_bfloat162, "__nv_bfloat16", false)
