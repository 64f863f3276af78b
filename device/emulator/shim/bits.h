// bits.h: integer intrinsics and reinterpretation of bits.
#pragma once

template <class To, class From>
inline To autotune_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

inline float __int_as_float(int v) { return autotune_bits<float>(v); }
inline float __uint_as_float(unsigned v) { return autotune_bits<float>(v); }
inline int __float_as_int(float v) { return autotune_bits<int>(v); }
inline unsigned __float_as_uint(float v) { return autotune_bits<unsigned>(v); }
inline double __longlong_as_double(long long v) { return autotune_bits<double>(v); }
inline long long __double_as_longlong(double v) { return autotune_bits<long long>(v); }
inline int __double2hiint(double v) { return int(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return int(__double_as_longlong(v)); }
inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)(((unsigned long long)(unsigned)hi << 32) | (unsigned)lo));
}

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(unsigned(v)) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
  v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
  v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
  v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(v);
}
inline unsigned long long __brevll(unsigned long long v) {
  return ((unsigned long long)__brev(unsigned(v)) << 32) | __brev(unsigned(v >> 32));
}

// __byte_perm picks four of the eight bytes of (y, x); bit 3 of a selector
// repeats the byte's sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
  const unsigned long long both = ((unsigned long long)y << 32) | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned selector = (selectors >> (4 * i)) & 15u;
    unsigned byte = unsigned(both >> (8 * (selector & 7u))) & 255u;
    if (selector & 8u) byte = (byte & 128u) ? 255u : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  const unsigned long long both = ((unsigned long long)hi << 32) | lo;
  return unsigned((both << (shift & 31u)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  const unsigned long long both = ((unsigned long long)hi << 32) | lo;
  return unsigned(both >> (shift & 31u));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32u ? lo : __funnelshift_l(lo, hi, shift);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32u ? hi : __funnelshift_r(lo, hi, shift);
}

inline int __mul24(int a, int b) {
  const long long x = (int)((unsigned)a << 8) >> 8, y = (int)((unsigned)b << 8) >> 8;
  return int(x * y);
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return int(((long long)a * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(((unsigned long long)a * b) >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return (a > b ? unsigned(a) - unsigned(b) : unsigned(b) - unsigned(a)) + c;
}
