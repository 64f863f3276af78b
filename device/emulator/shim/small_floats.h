// small_floats.h: floating types of one and two bytes, by integers alone: their
// codes as numbers and back, each rounded once. cuda_fp16.h, cuda_bf16.h and
// cuda_fp8.h are made of it.
#pragma once

enum AutotuneRounding { AUTOTUNE_NEAREST, AUTOTUNE_TO_ZERO, AUTOTUNE_DOWN, AUTOTUNE_UP };

// A format has a sign, Exponent bits and Mantissa bits. Infinities: all ones in the
// exponent is an infinity or a NaN; else only all ones throughout is a NaN, as in
// e4m3. Saturates: what is too large becomes the largest number.
template <int Exponent, int Mantissa, bool Infinities = true, bool Saturates = false>
struct AutotuneFormat {
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr unsigned top = (1u << Exponent) - 1, ones = (1u << Mantissa) - 1;
  static constexpr unsigned infinity = top << Mantissa;
  static constexpr unsigned nan = infinity | ones;  // what operations and conversions give
  static constexpr unsigned largest = Infinities ? infinity - 1 : nan - 1;
  static constexpr unsigned sign = 1u << (Exponent + Mantissa);

  static double number(unsigned code) {
    const unsigned exponent = (code >> Mantissa) & top, mantissa = code & ones;
    const unsigned long long minus = (unsigned long long)((code & sign) != 0) << 63;
    if (Infinities ? exponent == top : (code & nan) == nan)
      return autotune_bits<double>(minus | (mantissa ? 0x7ff8000000000000ull : 0x7ff0000000000000ull));
    if (exponent == 0) {  // times the smallest
      const double value = double(mantissa) * autotune_bits<double>((unsigned long long)(1023 + 1 - bias - Mantissa) << 52);
      return minus ? -value : value;
    }
    return autotune_bits<double>(minus | (unsigned long long)(exponent + 1023 - bias) << 52 | (unsigned long long)mantissa << (52 - Mantissa));
  }

  static unsigned code(double value, AutotuneRounding rounding = AUTOTUNE_NEAREST) {
    const unsigned long long bits = autotune_bits<unsigned long long>(value);
    const bool minus = bits >> 63;
    if (value != value) return nan;
    const unsigned s = minus ? sign : 0u;
    const int exponent = int(bits >> 52 & 0x7ffu) - 1023;
    if (exponent == 1024) return s | (Saturates ? largest : infinity);
    if (exponent == -1023) return s | small(bits << 12 != 0, minus, rounding);  // far below the smallest
    int drop = 52 - Mantissa;  // bits of the double that have no place
    if (exponent < 1 - bias) drop += 1 - bias - exponent;
    if (drop > 54) return s | small(true, minus, rounding);
    const unsigned long long full = (bits & 0xfffffffffffffull) | 1ull << 52;
    const unsigned long long rest = full & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    unsigned long long kept = full >> drop;
    if (rounding == AUTOTUNE_NEAREST ? rest > half || (rest == half && (kept & 1)) : rest && away(minus, rounding)) ++kept;
    if (exponent >= 1 - bias) {
      if (exponent > bias + 1) return s | beyond(minus, rounding);
      kept += (unsigned long long)(exponent + bias - 1) << Mantissa;
    }
    return s | (kept > largest ? beyond(minus, rounding) : unsigned(kept));
  }

 private:
  static bool away(bool minus, AutotuneRounding rounding) { return rounding == (minus ? AUTOTUNE_DOWN : AUTOTUNE_UP); }
  static unsigned small(bool something, bool minus, AutotuneRounding rounding) { return something && away(minus, rounding); }
  static unsigned beyond(bool minus, AutotuneRounding rounding) {
    return !Saturates && (rounding == AUTOTUNE_NEAREST || away(minus, rounding)) ? infinity : largest;
  }
};

// a*b + c, to odd where it is not exact, so that it can be rounded once more. The
// product of two small floats is exact.
inline double autotune_fma_to_odd(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!__builtin_isfinite(sum)) return sum;
  const double part = sum - product, error = (product - (sum - part)) + (c - part);
  unsigned long long bits = autotune_bits<unsigned long long>(sum);
  if (error == 0 || (bits & 1)) return sum;
  return autotune_bits<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// An integer as a double, to odd where it has more than 53 bits.
inline double autotune_integer_to_odd(unsigned long long v) {
  if (v >> 53) v = (v & ~0x7ffull) | (v & 0x7ffull ? 0x800ull : 0ull);
  return double(v);
}

// ---- What the types of two bytes have in common ----

// The members of a type T of two bytes with that format.
#define AUTOTUNE_HALF_MEMBERS(T, FORMAT)                                             \
  typedef FORMAT Format;                                                             \
  unsigned short __x;                                                                \
  T() = default;                                                                     \
  T(double v) : __x((unsigned short)Format::code(v)) {}                              \
  T(float v) : T(double(v)) {}                                                       \
  T(short v) : T(double(v)) {}                                                       \
  T(unsigned short v) : T(double(v)) {}                                              \
  T(int v) : T(double(v)) {}                                                         \
  T(unsigned v) : T(double(v)) {}                                                    \
  T(long long v) : T(v < 0 ? -autotune_integer_to_odd(0ull - (unsigned long long)v) : autotune_integer_to_odd((unsigned long long)v)) {} \
  T(unsigned long long v) : T(autotune_integer_to_odd(v)) {}                         \
  T(long v) : T((long long)v) {}                                                     \
  T(unsigned long v) : T((unsigned long long)v) {}                                   \
  operator float() const { return float(Format::number(__x)); }                      \
  double autotune_number() const { return Format::number(__x); }

template <class T> inline T autotune_of_code(unsigned code) {
  T t;
  t.__x = (unsigned short)code;
  return t;
}
template <class T> inline T autotune_rounded(double value, AutotuneRounding rounding) { return autotune_of_code<T>(T::Format::code(value, rounding)); }
template <class T> inline T autotune_saturated(double v) { return T(v != v ? 0.0 : v < 0 ? 0.0 : v > 1 ? 1.0 : v); }
template <class T> inline T autotune_relu(T v) { return v.autotune_number() < 0 ? T(0.0) : v; }
// The greater or lesser one: a number before a NaN, and minus zero before zero.
template <class T> inline T autotune_greater(T a, T b) {
  const double x = a.autotune_number(), y = b.autotune_number();
  if (x != x) return y != y ? autotune_of_code<T>(T::Format::nan) : b;
  return y != y || x > y || (x == y && !(a.__x & T::Format::sign)) ? a : b;
}
template <class T> inline T autotune_lesser(T a, T b) {
  const double x = a.autotune_number(), y = b.autotune_number();
  if (x != x) return y != y ? autotune_of_code<T>(T::Format::nan) : b;
  return y != y || x < y || (x == y && (a.__x & T::Format::sign)) ? a : b;
}
template <class T> inline bool autotune_nan(T a) { return a.autotune_number() != a.autotune_number(); }

#define AUTOTUNE_OF_ONE(T, T2, NAME, RESULT)                                                     \
  inline T NAME(T v) { const double a = v.autotune_number(); return T(RESULT); }
#define AUTOTUNE_OF_TWO(T, T2, NAME, RESULT)                                                     \
  inline T NAME(T v, T w) { const double a = v.autotune_number(), b = w.autotune_number(); return T(RESULT); }
// A function of one under two names, of a number and of a pair.
#define AUTOTUNE_MAP1(T, T2, NAME, NAME2, RESULT) \
  AUTOTUNE_OF_ONE(T, T2, NAME, RESULT)            \
  inline T2 NAME2(T2 v) { return T2(NAME(v.x), NAME(v.y)); }
#define AUTOTUNE_MAP2(T, T2, NAME, NAME2, RESULT) \
  AUTOTUNE_OF_TWO(T, T2, NAME, RESULT)            \
  inline T2 NAME2(T2 v, T2 w) { return T2(NAME(v.x, w.x), NAME(v.y, w.y)); }
#define AUTOTUNE_CODE2(T, T2, NAME, NAME2, RESULT)           \
  inline T NAME(T v, T w) { return RESULT; }                 \
  inline T2 NAME2(T2 v, T2 w) { return T2(NAME(v.x, w.x), NAME(v.y, w.y)); }
#define AUTOTUNE_FMA(T, T2, NAME, NAME2, RESULT)                                                                             \
  inline T NAME(T u, T v, T w) {                                                                                             \
    const double r = autotune_fma_to_odd(u.autotune_number(), v.autotune_number(), w.autotune_number());                     \
    return RESULT;                                                                                                           \
  }                                                                                                                          \
  inline T2 NAME2(T2 u, T2 v, T2 w) { return T2(NAME(u.x, v.x, w.x), NAME(u.y, v.y, w.y)); }
// Comparisons of numbers, of pairs as ones and zeros, of both of a pair.
#define AUTOTUNE_COMPARE(T, T2, WORD, RESULT)                                                             \
  inline bool __h##WORD(T v, T w) { const double a = v.autotune_number(), b = w.autotune_number(); return RESULT; } \
  inline T2 __h##WORD##2(T2 v, T2 w) { return T2(T(__h##WORD(v.x, w.x) ? 1.0 : 0.0), T(__h##WORD(v.y, w.y) ? 1.0 : 0.0)); } \
  inline bool __hb##WORD##2(T2 v, T2 w) { return __h##WORD(v.x, w.x) && __h##WORD(v.y, w.y); }
// Unordered: true with a NaN, too.
#define AUTOTUNE_COMPARES(T, T2, WORD, RESULT) \
  AUTOTUNE_COMPARE(T, T2, WORD, RESULT)        \
  AUTOTUNE_COMPARE(T, T2, WORD##u, a != a || b != b || (RESULT))

#define AUTOTUNE_OPERATOR(T, T2, SIGN, NAME, NAME2)                                   \
  inline T operator SIGN(const T& a, const T& b) { return NAME(a, b); }               \
  inline T& operator SIGN##=(T& a, const T& b) { return a = NAME(a, b); }             \
  inline T2 operator SIGN(const T2& a, const T2& b) { return NAME2(a, b); }           \
  inline T2& operator SIGN##=(T2& a, const T2& b) { return a = NAME2(a, b); }

// The arithmetic, comparisons and functions of T and of its pairs T2. Sums,
// differences, products and quotients are rounded once: a double holds more than
// twice the digits.
#define AUTOTUNE_HALF_FUNCTIONS(T, T2)                                                     \
  AUTOTUNE_MAP2(T, T2, __hadd, __hadd2, a + b) AUTOTUNE_MAP2(T, T2, __hadd_rn, __hadd2_rn, a + b)  \
  AUTOTUNE_MAP2(T, T2, __hsub, __hsub2, a - b) AUTOTUNE_MAP2(T, T2, __hsub_rn, __hsub2_rn, a - b)  \
  AUTOTUNE_MAP2(T, T2, __hmul, __hmul2, a * b) AUTOTUNE_MAP2(T, T2, __hmul_rn, __hmul2_rn, a * b)  \
  AUTOTUNE_MAP2(T, T2, __hdiv, __h2div, a / b)                                             \
  AUTOTUNE_MAP2(T, T2, __hadd_sat, __hadd2_sat, autotune_saturated<T>(T(a + b)))           \
  AUTOTUNE_MAP2(T, T2, __hsub_sat, __hsub2_sat, autotune_saturated<T>(T(a - b)))           \
  AUTOTUNE_MAP2(T, T2, __hmul_sat, __hmul2_sat, autotune_saturated<T>(T(a * b)))           \
  AUTOTUNE_FMA(T, T2, __hfma, __hfma2, T(r))                                               \
  AUTOTUNE_FMA(T, T2, __hfma_sat, __hfma2_sat, autotune_saturated<T>(T(r)))                \
  AUTOTUNE_FMA(T, T2, __hfma_relu, __hfma2_relu, autotune_relu(T(r)))                      \
  AUTOTUNE_CODE2(T, T2, __hmax, __hmax2, autotune_greater(v, w))                           \
  AUTOTUNE_CODE2(T, T2, __hmin, __hmin2, autotune_lesser(v, w))                            \
  AUTOTUNE_CODE2(T, T2, __hmax_nan, __hmax2_nan, autotune_nan(v) || autotune_nan(w) ? autotune_of_code<T>(T::Format::nan) : autotune_greater(v, w)) \
  AUTOTUNE_CODE2(T, T2, __hmin_nan, __hmin2_nan, autotune_nan(v) || autotune_nan(w) ? autotune_of_code<T>(T::Format::nan) : autotune_lesser(v, w))  \
  inline T __hneg(T v) { return autotune_of_code<T>(v.__x ^ T::Format::sign); }            \
  inline T __habs(T v) { return autotune_of_code<T>(v.__x & ~T::Format::sign); }           \
  inline T2 __hneg2(T2 v) { return T2(__hneg(v.x), __hneg(v.y)); }                         \
  inline T2 __habs2(T2 v) { return T2(__habs(v.x), __habs(v.y)); }                         \
  inline bool __hisnan(T v) { return autotune_nan(v); }                                    \
  inline T2 __hisnan2(T2 v) { return T2(T(autotune_nan(v.x) ? 1.0 : 0.0), T(autotune_nan(v.y) ? 1.0 : 0.0)); } \
  inline int __hisinf(T v) { return (v.__x & ~T::Format::sign) != T::Format::infinity ? 0 : v.__x & T::Format::sign ? -1 : 1; } \
  AUTOTUNE_COMPARES(T, T2, eq, a == b) AUTOTUNE_COMPARES(T, T2, ne, a < b || a > b)                \
  AUTOTUNE_COMPARES(T, T2, lt, a < b) AUTOTUNE_COMPARES(T, T2, le, a <= b)                 \
  AUTOTUNE_COMPARES(T, T2, gt, a > b) AUTOTUNE_COMPARES(T, T2, ge, a >= b)                 \
  AUTOTUNE_MAP1(T, T2, hsqrt, h2sqrt, sqrt(a)) AUTOTUNE_MAP1(T, T2, hrsqrt, h2rsqrt, 1.0 / sqrt(a)) \
  AUTOTUNE_MAP1(T, T2, hrcp, h2rcp, 1.0 / a) AUTOTUNE_MAP1(T, T2, hexp, h2exp, exp(a))     \
  AUTOTUNE_MAP1(T, T2, hexp2, h2exp2, exp2(a)) AUTOTUNE_MAP1(T, T2, hexp10, h2exp10, pow(10.0, a)) \
  AUTOTUNE_MAP1(T, T2, hlog, h2log, log(a)) AUTOTUNE_MAP1(T, T2, hlog2, h2log2, log2(a))   \
  AUTOTUNE_MAP1(T, T2, hlog10, h2log10, log10(a)) AUTOTUNE_MAP1(T, T2, htanh, h2tanh, tanh(a)) \
  AUTOTUNE_MAP1(T, T2, hsin, h2sin, sin(a)) AUTOTUNE_MAP1(T, T2, hcos, h2cos, cos(a))      \
  AUTOTUNE_MAP1(T, T2, hfloor, h2floor, floor(a)) AUTOTUNE_MAP1(T, T2, hceil, h2ceil, ceil(a)) \
  AUTOTUNE_MAP1(T, T2, htrunc, h2trunc, trunc(a)) AUTOTUNE_MAP1(T, T2, hrint, h2rint, rint(a)) \
  AUTOTUNE_OPERATOR(T, T2, +, __hadd, __hadd2) AUTOTUNE_OPERATOR(T, T2, -, __hsub, __hsub2) \
  AUTOTUNE_OPERATOR(T, T2, *, __hmul, __hmul2) AUTOTUNE_OPERATOR(T, T2, /, __hdiv, __h2div) \
  inline T operator+(const T& v) { return v; }                                             \
  inline T operator-(const T& v) { return __hneg(v); }                                     \
  inline T2 operator-(const T2& v) { return __hneg2(v); }                                  \
  inline T& operator++(T& v) { return v = __hadd(v, T(1.0)); }                             \
  inline T& operator--(T& v) { return v = __hsub(v, T(1.0)); }                             \
  AUTOTUNE_RELATIONS(T, T2)                                                                \
  AUTOTUNE_ATOMIC(atomicAdd, T, __hadd(old, value))                                        \
  AUTOTUNE_ATOMIC(atomicAdd, T2, __hadd2(old, value))

#define AUTOTUNE_RELATIONS(T, T2)                                                          \
  inline bool operator==(const T& a, const T& b) { return __heq(a, b); }                   \
  inline bool operator!=(const T& a, const T& b) { return __hneu(a, b); }                  \
  inline bool operator<(const T& a, const T& b) { return __hlt(a, b); }                    \
  inline bool operator<=(const T& a, const T& b) { return __hle(a, b); }                   \
  inline bool operator>(const T& a, const T& b) { return __hgt(a, b); }                    \
  inline bool operator>=(const T& a, const T& b) { return __hge(a, b); }                   \
  inline bool operator==(const T2& a, const T2& b) { return __hbeq2(a, b); }               \
  inline bool operator!=(const T2& a, const T2& b) { return __hbneu2(a, b); }

// Conversions under the names that T goes by: __float2NAME, __NAME2float.
#define AUTOTUNE_HALF_CONVERSIONS(T, NAME)                                                 \
  inline T __float2##NAME(float v) { return T(v); }                                        \
  inline T __float2##NAME##_rn(float v) { return T(v); }                                   \
  inline T __float2##NAME##_rz(float v) { return autotune_rounded<T>(v, AUTOTUNE_TO_ZERO); } \
  inline T __float2##NAME##_rd(float v) { return autotune_rounded<T>(v, AUTOTUNE_DOWN); }  \
  inline T __float2##NAME##_ru(float v) { return autotune_rounded<T>(v, AUTOTUNE_UP); }    \
  inline T __double2##NAME(double v) { return T(v); }                                      \
  inline float __##NAME##2float(T v) { return float(v); }                                  \
  inline T __int2##NAME##_rn(int v) { return T(v); }                                       \
  inline T __uint2##NAME##_rn(unsigned v) { return T(v); }                                 \
  inline T __short2##NAME##_rn(short v) { return T(v); }                                   \
  inline T __ushort2##NAME##_rn(unsigned short v) { return T(v); }                         \
  inline T __ll2##NAME##_rn(long long v) { return T(v); }                                  \
  inline T __ull2##NAME##_rn(unsigned long long v) { return T(v); }                        \
  inline int __##NAME##2int_rn(T v) { return __float2int_rn(v); }                          \
  inline int __##NAME##2int_rz(T v) { return __float2int_rz(v); }                          \
  inline int __##NAME##2int_rd(T v) { return __float2int_rd(v); }                          \
  inline int __##NAME##2int_ru(T v) { return __float2int_ru(v); }                          \
  inline unsigned __##NAME##2uint_rn(T v) { return __float2uint_rn(v); }                   \
  inline unsigned __##NAME##2uint_rz(T v) { return __float2uint_rz(v); }                   \
  inline T __ushort_as_##NAME(unsigned short v) { return autotune_of_code<T>(v); }         \
  inline T __short_as_##NAME(short v) { return autotune_of_code<T>((unsigned short)v); }   \
  inline unsigned short __##NAME##_as_ushort(T v) { return v.__x; }                        \
  inline short __##NAME##_as_short(T v) { return (short)v.__x; }

// Pairs: the lower one is x.
#define AUTOTUNE_PAIR(T, T2)                                                               \
  struct __attribute__((aligned(4))) T2 {                                                  \
    T x, y;                                                                                \
    T2() = default;                                                                        \
    T2(const T& a, const T& b) : x(a), y(b) {}                                             \
  };                                                                                       \
  inline float __low2float(T2 v) { return float(v.x); }                                    \
  inline float __high2float(T2 v) { return float(v.y); }                                   \
  inline T2 __lowhigh2highlow(T2 v) { return T2(v.y, v.x); }
