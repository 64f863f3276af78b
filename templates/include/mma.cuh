// mma.cuh: computes D = A * B + D on tensor cores by mma.sync (sm_80 and later).
//
// Lane l holds these fragments, where g = l / 4 and t = l % 4 (PTX ISA, "Matrix Fragments"):
//
//   m16n8k8, TF32: a register is one element
//     a[0] row g    column t       a[2] row g    column t+4
//     a[1] row g+8  column t       a[3] row g+8  column t+4
//     b[0] row t    column g       b[1] row t+4  column g
//   m16n8k16, bf16 or fp16: a register is two elements, the lower index in the lower half
//     a[0] row g    columns 2t,2t+1      a[2] row g    columns 2t+8,2t+9
//     a[1] row g+8  columns 2t,2t+1      a[3] row g+8  columns 2t+8,2t+9
//     b[0] rows 2t,2t+1  column g        b[1] rows 2t+8,2t+9  column g
//   d, both: d[0], d[1] row g columns 2t,2t+1;  d[2], d[3] row g+8, the same columns.
//
// Successive mma.sync with the same accumulator wait for each other, so kernels alternate between accumulators. The asm
// is volatile to keep the compiler from reordering mma instructions.
#pragma once

#ifndef AUTOTUNE_EMULATOR

#if __CUDA_ARCH__ >= 800
#define MMA(SHAPE, TYPE)                                                                                                         \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
#define MMA(SHAPE, TYPE) __trap()  // sm_80 introduced the instruction
#endif

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { MMA("m16n8k8", "tf32"); }
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { MMA("m16n8k16", "bf16"); }
__device__ __forceinline__ void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { MMA("m16n8k16", "f16"); }

#else
#include <emulated/mma.cuh>
#endif
