// mma_fp16.cuh: mma.cuh's m16n8k16 product of bf16, of fp16 (fp16.cuh): the same fragments.
#pragma once
#include "mma.cuh"

#ifndef AUTOTUNE_EMULATOR

// mma_m16n8k16_fp16 adds a 16 x 16 by 16 x 8 product of fp16 operands to d.
__device__ __forceinline__ void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap(); // no such instruction before sm_80
#endif
}

#else
#include <emulated/mma_fp16.cuh>
#endif
