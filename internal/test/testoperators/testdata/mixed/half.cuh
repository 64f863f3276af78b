#pragma once
// Small floating types by their bits, which need no header.

__device__ inline float from_half(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

__device__ inline unsigned short to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ inline float from_bfloat(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }
