// wgmma_shared.cuh: wgmma (wgmma.cuh) with A in shared memory, too, so that no register
// holds an operand: D has 64 rows by up to 256 columns.
//
//   a      rows of 16 bytes side by side, as B's columns: the lower half of the
//          product's depth in the first slab, the upper in the second (Slabs)
//   d      as in wgmma.cuh: warp w of the warpgroup has rows 16*w .. 16*w + 15
//
// Fences, commits and waits are wgmma.cuh's. wgmma_wait_groups<Groups>() waits without
// naming sums; before they are read, wgmma_wait(d) must name them.
#pragma once
#include "wgmma.cuh"

#ifndef AUTOTUNE_EMULATOR

template <int Groups>
__device__ __forceinline__ void wgmma_wait_groups() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

template <int Columns>
__device__ void wgmma_tf32(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add);
template <int Columns>
__device__ void wgmma_bf16(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add);
template <int Columns>
__device__ void wgmma_fp16(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add);

#define WGMMA_SHARED(NAME, TYPE, DEPTH, MAJORS, COLUMNS, SUMS, NAMES, A, B, ADD)                                      \
    template <>                                                                                                     \
    __device__ __forceinline__ void NAME<COLUMNS>(float (&d)[COLUMNS / 2], const Slabs& a, const Slabs& b, bool add) { \
        asm volatile("{.reg .pred p; setp.ne.b32 p, " ADD ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS         \
                     "k" #DEPTH ".f32." #TYPE "." #TYPE " {" NAMES "}, " A ", " B ", p, 1, 1" MAJORS ";}"           \
                     : WGMMA_SUMS_##SUMS                                                                      \
                     : "l"(wgmma_descriptor(a)), "l"(wgmma_descriptor(b)), "r"((int)add));                          \
    }
#define WGMMA_SHARED_TYPES(...)                               \
    WGMMA_SHARED(wgmma_tf32, tf32, 8, "", __VA_ARGS__)        \
    WGMMA_SHARED(wgmma_bf16, bf16, 16, ", 0, 0", __VA_ARGS__) \
    WGMMA_SHARED(wgmma_fp16, f16, 16, ", 0, 0", __VA_ARGS__)

WGMMA_SHARED_TYPES(64, 32, WGMMA_NAMES_32, "%32", "%33", "%34")
WGMMA_SHARED_TYPES(96, 48, WGMMA_NAMES_48, "%48", "%49", "%50")
WGMMA_SHARED_TYPES(128, 64, WGMMA_NAMES_64, "%64", "%65", "%66")
WGMMA_SHARED_TYPES(160, 80, WGMMA_NAMES_80, "%80", "%81", "%82")
WGMMA_SHARED_TYPES(192, 96, WGMMA_NAMES_96, "%96", "%97", "%98")
WGMMA_SHARED_TYPES(224, 112, WGMMA_NAMES_112, "%112", "%113", "%114")
WGMMA_SHARED_TYPES(256, 128, WGMMA_NAMES_128, "%128", "%129", "%130")

#else
#include <emulated/wgmma_shared.cuh>
#endif
