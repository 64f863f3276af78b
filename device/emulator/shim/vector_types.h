// vector_types.h: CUDA's vector types, with CUDA's sizes and alignments, so that
// a misaligned vector access is one here as well.
#pragma once

#define AUTOTUNE_VECTOR1(T, NAME)        \
  struct NAME##1 { T x; };               \
  inline NAME##1 make_##NAME##1(T x) { return NAME##1{x}; }
#define AUTOTUNE_VECTOR2(T, NAME, ALIGN)               \
  struct __attribute__((aligned(ALIGN))) NAME##2 { T x, y; }; \
  inline NAME##2 make_##NAME##2(T x, T y) { return NAME##2{x, y}; }
#define AUTOTUNE_VECTOR3(T, NAME)   \
  struct NAME##3 { T x, y, z; };    \
  inline NAME##3 make_##NAME##3(T x, T y, T z) { return NAME##3{x, y, z}; }
#define AUTOTUNE_VECTOR4(T, NAME, ALIGN)                     \
  struct __attribute__((aligned(ALIGN))) NAME##4 { T x, y, z, w; }; \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return NAME##4{x, y, z, w}; }
#define AUTOTUNE_VECTORS(T, NAME, ALIGN2, ALIGN4) \
  AUTOTUNE_VECTOR1(T, NAME)                       \
  AUTOTUNE_VECTOR2(T, NAME, ALIGN2)               \
  AUTOTUNE_VECTOR3(T, NAME)                       \
  AUTOTUNE_VECTOR4(T, NAME, ALIGN4)

AUTOTUNE_VECTORS(signed char, char, 2, 4)
AUTOTUNE_VECTORS(unsigned char, uchar, 2, 4)
AUTOTUNE_VECTORS(short, short, 4, 8)
AUTOTUNE_VECTORS(unsigned short, ushort, 4, 8)
AUTOTUNE_VECTORS(int, int, 8, 16)
AUTOTUNE_VECTORS(unsigned int, uint, 8, 16)
AUTOTUNE_VECTORS(float, float, 8, 16)
AUTOTUNE_VECTORS(long long, longlong, 16, 16)
AUTOTUNE_VECTORS(unsigned long long, ulonglong, 16, 16)
AUTOTUNE_VECTORS(double, double, 16, 16)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
