// cuda_fp8.h: floating types of one byte. Their conversions saturate: what is too
// large, infinities too, becomes the largest number.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// One beyond the largest of e4m3 has no infinity to become: it is a NaN.
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  if (saturation == __NV_SATFINITE)
    return __nv_fp8_storage_t(format == __NV_E4M3 ? AutotuneFormat<4, 3, false, true>::code(v) : AutotuneFormat<5, 2, true, true>::code(v));
  if (format == __NV_E5M2) return __nv_fp8_storage_t(AutotuneFormat<5, 2>::code(v));
  const double beyond = 464;  // the first that rounding takes past 448 is the next one
  return __nv_fp8_storage_t(v > beyond ? 0x7f : v < -beyond ? 0xff : AutotuneFormat<4, 3, false, true>::code(v));
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __nv_cvt_double_to_fp8(v, saturation, format);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw v, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __nv_cvt_double_to_fp8(float(__half(v)), saturation, format);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw v, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __nv_cvt_double_to_fp8(float(__nv_bfloat16(v)), saturation, format);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __nv_fp8x2_storage_t(__nv_cvt_float_to_fp8(v.x, saturation, format) | __nv_cvt_float_to_fp8(v.y, saturation, format) << 8);
}
inline double autotune_fp8(__nv_fp8_storage_t code, __nv_fp8_interpretation_t format) {
  return format == __NV_E4M3 ? AutotuneFormat<4, 3, false>::number(code) : AutotuneFormat<5, 2>::number(code);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t code, __nv_fp8_interpretation_t format) { return __half(autotune_fp8(code, format)); }

#define AUTOTUNE_FP8(T, T2, T4, FORMAT)                                                                        \
  struct T {                                                                                                   \
    __nv_fp8_storage_t __x;                                                                                    \
    T() = default;                                                                                             \
    explicit T(double v) : __x(__nv_cvt_double_to_fp8(v, __NV_SATFINITE, FORMAT)) {}                           \
    explicit T(float v) : T(double(v)) {}                                                                      \
    explicit T(__half v) : T(double(float(v))) {}                                                              \
    explicit T(__nv_bfloat16 v) : T(double(float(v))) {}                                                       \
    explicit T(short v) : T(double(v)) {}                                                                      \
    explicit T(unsigned short v) : T(double(v)) {}                                                             \
    explicit T(int v) : T(double(v)) {}                                                                        \
    explicit T(unsigned v) : T(double(v)) {}                                                                   \
    explicit T(long v) : T(double(v)) {}                                                                       \
    explicit T(unsigned long v) : T(double(v)) {}                                                              \
    explicit T(long long v) : T(double(v)) {}                                                                  \
    explicit T(unsigned long long v) : T(double(v)) {}                                                         \
    explicit operator float() const { return float(autotune_fp8(__x, FORMAT)); }                               \
    explicit operator double() const { return autotune_fp8(__x, FORMAT); }                                     \
    explicit operator __half() const { return __half(autotune_fp8(__x, FORMAT)); }                             \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(autotune_fp8(__x, FORMAT)); }               \
    explicit operator int() const { return int(autotune_fp8(__x, FORMAT)); }                                   \
    explicit operator bool() const { return autotune_fp8(__x, FORMAT) != 0; }                                  \
  };                                                                                                           \
  struct __attribute__((aligned(2))) T2 {                                                                      \
    __nv_fp8x2_storage_t __x;                                                                                  \
    T2() = default;                                                                                            \
    explicit T2(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, FORMAT)) {}                        \
    explicit T2(__half2 v) : T2(__half22float2(v)) {}                                                          \
    explicit T2(__nv_bfloat162 v) : T2(__bfloat1622float2(v)) {}                                               \
    explicit operator float2() const {                                                                         \
      return make_float2(float(autotune_fp8(__nv_fp8_storage_t(__x), FORMAT)), float(autotune_fp8(__nv_fp8_storage_t(__x >> 8), FORMAT))); \
    }                                                                                                          \
    explicit operator __half2() const { return __float22half2_rn(float2(*this)); }                             \
  };                                                                                                           \
  struct __attribute__((aligned(4))) T4 {                                                                      \
    __nv_fp8x4_storage_t __x;                                                                                  \
    T4() = default;                                                                                            \
    explicit T4(float4 v) : __x(T2(make_float2(v.x, v.y)).__x | unsigned(T2(make_float2(v.z, v.w)).__x) << 16) {} \
    explicit operator float4() const {                                                                         \
      T2 low, high;                                                                                            \
      low.__x = __nv_fp8x2_storage_t(__x), high.__x = __nv_fp8x2_storage_t(__x >> 16);                         \
      const float2 a = float2(low), b = float2(high);                                                          \
      return make_float4(a.x, a.y, b.x, b.y);                                                                  \
    }                                                                                                          \
  };                                                                                                           \
  AUTOTUNE_NUMBER(T, #T)                                                                                       \
  AUTOTUNE_NAME(T2, #T, false)                                                                                 \
  AUTOTUNE_NAME(T4, #T, false)
AUTOTUNE_FP8(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
AUTOTUNE_FP8(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
