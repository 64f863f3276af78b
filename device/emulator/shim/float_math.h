// float_math.h: the mathematical functions. Those of the C library are declared
// rather than included, which keeps a variant's compile time small, unless the
// kernel includes headers of the C++ library, which come before this one and have
// them all. What the C library may declare for itself is declared as it does.
#pragma once

#ifndef AUTOTUNE_STANDARD_HEADERS
#define AUTOTUNE_MATH1(NAME)                \
  extern "C" float NAME##f(float) noexcept; \
  extern "C" double NAME(double) noexcept;  \
  inline float NAME(float a) { return NAME##f(a); }
#define AUTOTUNE_MATH2(NAME)                       \
  extern "C" float NAME##f(float, float) noexcept; \
  extern "C" double NAME(double, double) noexcept; \
  inline float NAME(float a, float b) { return NAME##f(a, b); }

AUTOTUNE_MATH1(sqrt) AUTOTUNE_MATH1(cbrt)
AUTOTUNE_MATH1(exp) AUTOTUNE_MATH1(exp2) AUTOTUNE_MATH1(expm1)
AUTOTUNE_MATH1(log) AUTOTUNE_MATH1(log2) AUTOTUNE_MATH1(log10) AUTOTUNE_MATH1(log1p)
AUTOTUNE_MATH1(sin) AUTOTUNE_MATH1(cos) AUTOTUNE_MATH1(tan) AUTOTUNE_MATH1(asin) AUTOTUNE_MATH1(acos) AUTOTUNE_MATH1(atan)
AUTOTUNE_MATH1(sinh) AUTOTUNE_MATH1(cosh) AUTOTUNE_MATH1(tanh)
AUTOTUNE_MATH1(erf) AUTOTUNE_MATH1(erfc) AUTOTUNE_MATH1(tgamma) AUTOTUNE_MATH1(lgamma)
AUTOTUNE_MATH1(fabs) AUTOTUNE_MATH1(floor) AUTOTUNE_MATH1(ceil) AUTOTUNE_MATH1(round) AUTOTUNE_MATH1(trunc)
AUTOTUNE_MATH1(rint) AUTOTUNE_MATH1(nearbyint)
AUTOTUNE_MATH2(pow) AUTOTUNE_MATH2(atan2) AUTOTUNE_MATH2(hypot) AUTOTUNE_MATH2(fmod) AUTOTUNE_MATH2(copysign)
AUTOTUNE_MATH2(fdim) AUTOTUNE_MATH2(remainder)

extern "C" float fmaf(float, float, float) noexcept;
extern "C" double fma(double, double, double) noexcept;
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
extern "C" float ldexpf(float, int) noexcept;
extern "C" double ldexp(double, int) noexcept;
inline float ldexp(float a, int b) { return ldexpf(a, b); }

// fminf and fmaxf return the operand that is not a NaN, as on the GPU.
#define AUTOTUNE_ALWAYS inline __attribute__((always_inline))
extern "C" AUTOTUNE_ALWAYS float fmaxf(float a, float b) noexcept { return (a > b || b != b) ? a : b; }
extern "C" AUTOTUNE_ALWAYS float fminf(float a, float b) noexcept { return (a < b || b != b) ? a : b; }
extern "C" AUTOTUNE_ALWAYS double fmax(double a, double b) noexcept { return (a > b || b != b) ? a : b; }
extern "C" AUTOTUNE_ALWAYS double fmin(double a, double b) noexcept { return (a < b || b != b) ? a : b; }
inline float fmax(float a, float b) { return fmaxf(a, b); }
inline float fmin(float a, float b) { return fminf(a, b); }

inline bool isnan(float a) { return a != a; }
inline bool isnan(double a) { return a != a; }
inline bool isinf(float a) { return __builtin_isinf(a); }
inline bool isinf(double a) { return __builtin_isinf(a); }
inline bool isfinite(float a) { return __builtin_isfinite(a); }
inline bool isfinite(double a) { return __builtin_isfinite(a); }
inline bool signbit(float a) { return __builtin_signbit(a); }
inline bool signbit(double a) { return __builtin_signbit(a); }

extern "C" int abs(int) noexcept;
inline long abs(long a) { return a < 0 ? -a : a; }
inline long long abs(long long a) { return a < 0 ? -a : a; }
inline float abs(float a) { return fabsf(a); }
inline double abs(double a) { return fabs(a); }
inline long long llabs(long long a) { return a < 0 ? -a : a; }
#endif

extern "C" inline float rsqrtf(float a) noexcept { return float(1.0 / sqrt(double(a))); }
extern "C" inline double rsqrt(double a) noexcept { return 1.0 / sqrt(a); }
inline float rsqrt(float a) { return rsqrtf(a); }
inline float __frsqrt_rn(float a) { return rsqrtf(a); }
inline float __saturatef(float a) { return a != a ? 0.0f : a < 0.0f ? 0.0f : a > 1.0f ? 1.0f : a; }

// The fast intrinsics are as exact here as the functions that they approximate.
extern "C" inline float __expf(float a) noexcept { return expf(a); }
extern "C" inline float __exp10f(float a) noexcept { return powf(10.0f, a); }
extern "C" inline float exp10f(float a) noexcept { return powf(10.0f, a); }
extern "C" inline float __logf(float a) noexcept { return logf(a); }
extern "C" inline float __log2f(float a) noexcept { return log2f(a); }
extern "C" inline float __log10f(float a) noexcept { return log10f(a); }
extern "C" inline float __sinf(float a) noexcept { return sinf(a); }
extern "C" inline float __cosf(float a) noexcept { return cosf(a); }
extern "C" inline float __tanf(float a) noexcept { return tanf(a); }
extern "C" inline float __powf(float a, float b) noexcept { return powf(a, b); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }

inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }

inline int __float2int_rn(float a) { return int(rintf(a)); }
inline int __float2int_rz(float a) { return int(a); }
inline int __float2int_rd(float a) { return int(floorf(a)); }
inline int __float2int_ru(float a) { return int(ceilf(a)); }
inline unsigned __float2uint_rn(float a) { return unsigned(rintf(a)); }
inline unsigned __float2uint_rz(float a) { return unsigned(a); }
inline float __int2float_rn(int a) { return float(a); }
inline float __uint2float_rn(unsigned a) { return float(a); }
inline float __ll2float_rn(long long a) { return float(a); }
inline float __double2float_rn(double a) { return float(a); }

// min and max for every pair of types that CUDA has them for.
#define AUTOTUNE_MINMAX(A, B, R)                                         \
  inline R min(A a, B b) { return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); }           \
  inline R max(A a, B b) { return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); }
AUTOTUNE_MINMAX(int, int, int)
AUTOTUNE_MINMAX(unsigned, unsigned, unsigned)
AUTOTUNE_MINMAX(int, unsigned, unsigned)
AUTOTUNE_MINMAX(unsigned, int, unsigned)
AUTOTUNE_MINMAX(long, long, long)
AUTOTUNE_MINMAX(unsigned long, unsigned long, unsigned long)
AUTOTUNE_MINMAX(long, unsigned long, unsigned long)
AUTOTUNE_MINMAX(unsigned long, long, unsigned long)
AUTOTUNE_MINMAX(long long, long long, long long)
AUTOTUNE_MINMAX(unsigned long long, unsigned long long, unsigned long long)
AUTOTUNE_MINMAX(long long, unsigned long long, unsigned long long)
AUTOTUNE_MINMAX(unsigned long long, long long, unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(double a, float b) { return fmax(a, double(b)); }
inline int umin(unsigned a, unsigned b) { return int(min(a, b)); }
inline int umax(unsigned a, unsigned b) { return int(max(a, b)); }
