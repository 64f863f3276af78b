// wgmma_swizzled.cuh: wgmma (wgmma.cuh) of operands that lie in shared memory as the copy
// engine puts them with a tensor map (tensor_map.cuh): rows, or columns, of 128 bytes,
// 32 elements of k in TF32, swizzled. A product takes eight of these.
//
//   a      64 such rows, or registers as in wgmma.cuh
//   b      as many such rows as there are columns
//
// Fences, commits and waits are wgmma.cuh's and wgmma_shared.cuh's.
#pragma once
#include "swizzled_descriptor.cuh"
#include "wgmma_shared.cuh"

// SwizzledRows locates eight elements of k: of a row whose index is a multiple of eight,
// and of those after it.
struct SwizzledRows {
    const char* rows;  // the first's 128 bytes
    int eighth;        // which of their four times eight elements
    __device__ __forceinline__ SwizzledRows(const char* rows, int eighth) : rows(rows), eighth(eighth) {}
};

#ifndef AUTOTUNE_EMULATOR

__device__ __forceinline__ unsigned long long swizzled_descriptor(const SwizzledRows& of) {
    return swizzled_descriptor(of.rows, of.eighth * 32, 16);
}

template <int Columns>
__device__ void wgmma_swizzled(float (&d)[Columns / 2], const SwizzledRows& a, const SwizzledRows& b);
template <int Columns>
__device__ void wgmma_swizzled(float (&d)[Columns / 2], const unsigned (&a)[4], const SwizzledRows& b);

// Columns, sums, the sums' names, and the names of up to five operands.
#define WGMMA_SWIZZLED(COLUMNS, SUMS, NAMES, A0, A1, A2, A3, A4)                                                        \
    template <>                                                                                                        \
    __device__ __forceinline__ void wgmma_swizzled<COLUMNS>(float (&d)[COLUMNS / 2], const SwizzledRows& a,            \
                                                            const SwizzledRows& b) {                                   \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k8.f32.tf32.tf32 {" NAMES "}, " A0 ", " A1          \
                     ", 1, 1, 1;"                                                                                      \
                     : WGMMA_SUMS_##SUMS                                                                         \
                     : "l"(swizzled_descriptor(a)), "l"(swizzled_descriptor(b)));                                      \
    }                                                                                                                  \
    template <>                                                                                                        \
    __device__ __forceinline__ void wgmma_swizzled<COLUMNS>(float (&d)[COLUMNS / 2], const unsigned (&a)[4],           \
                                                            const SwizzledRows& b) {                                   \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k8.f32.tf32.tf32 {" NAMES "}, {" A0 "," A1 "," A2   \
                     "," A3 "}, " A4 ", 1, 1, 1;"                                                                      \
                     : WGMMA_SUMS_##SUMS                                                                         \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(swizzled_descriptor(b)));                       \
    }

WGMMA_SWIZZLED(64, 32, WGMMA_NAMES_32, "%32", "%33", "%34", "%35", "%36")
WGMMA_SWIZZLED(96, 48, WGMMA_NAMES_48, "%48", "%49", "%50", "%51", "%52")
WGMMA_SWIZZLED(128, 64, WGMMA_NAMES_64, "%64", "%65", "%66", "%67", "%68")
WGMMA_SWIZZLED(160, 80, WGMMA_NAMES_80, "%80", "%81", "%82", "%83", "%84")
WGMMA_SWIZZLED(192, 96, WGMMA_NAMES_96, "%96", "%97", "%98", "%99", "%100")
WGMMA_SWIZZLED(224, 112, WGMMA_NAMES_112, "%112", "%113", "%114", "%115", "%116")
WGMMA_SWIZZLED(256, 128, WGMMA_NAMES_128, "%128", "%129", "%130", "%131", "%132")

#else
#include <emulated/wgmma_swizzled.cuh>
#endif
