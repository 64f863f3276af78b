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

#define WGMMA_SHARED_SUMS_32(i) WGMMA_SUMS_16(i), WGMMA_SUMS_16(i + 16)
#define WGMMA_SHARED_SUMS_64(i) WGMMA_SHARED_SUMS_32(i), WGMMA_SHARED_SUMS_32(i + 32)
#define WGMMA_SHARED_ALL_32 WGMMA_SHARED_SUMS_32(0)
#define WGMMA_SHARED_ALL_48 WGMMA_SHARED_ALL_32, WGMMA_SUMS_16(32)
#define WGMMA_SHARED_ALL_64 WGMMA_SHARED_SUMS_64(0)
#define WGMMA_SHARED_ALL_80 WGMMA_SHARED_ALL_64, WGMMA_SUMS_16(64)
#define WGMMA_SHARED_ALL_96 WGMMA_SHARED_ALL_64, WGMMA_SHARED_SUMS_32(64)
#define WGMMA_SHARED_ALL_112 WGMMA_SHARED_ALL_96, WGMMA_SUMS_16(96)
#define WGMMA_SHARED_ALL_128 WGMMA_SHARED_ALL_64, WGMMA_SHARED_SUMS_64(64)

// NAME, its element type and depth, the transpositions that types of 16 bits have; columns, sums,
// the sums' names, and the names of a, b and add.
#define WGMMA_SHARED(NAME, TYPE, DEPTH, MAJORS, COLUMNS, SUMS, NAMES, A, B, ADD)                                      \
    template <>                                                                                                     \
    __device__ __forceinline__ void NAME<COLUMNS>(float (&d)[COLUMNS / 2], const Slabs& a, const Slabs& b, bool add) { \
        asm volatile("{.reg .pred p; setp.ne.b32 p, " ADD ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS         \
                     "k" #DEPTH ".f32." #TYPE "." #TYPE " {" NAMES "}, " A ", " B ", p, 1, 1" MAJORS ";}"           \
                     : WGMMA_SHARED_ALL_##SUMS                                                                      \
                     : "l"(wgmma_descriptor(a)), "l"(wgmma_descriptor(b)), "r"((int)add));                          \
    }
#define WGMMA_SHARED_TYPES(...)                               \
    WGMMA_SHARED(wgmma_tf32, tf32, 8, "", __VA_ARGS__)        \
    WGMMA_SHARED(wgmma_bf16, bf16, 16, ", 0, 0", __VA_ARGS__) \
    WGMMA_SHARED(wgmma_fp16, f16, 16, ", 0, 0", __VA_ARGS__)

#define WGMMA_SHARED_NAMES_32 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15" \
    ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_SHARED_NAMES_48 \
    WGMMA_SHARED_NAMES_32 \
    ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define WGMMA_SHARED_NAMES_64 \
    WGMMA_SHARED_NAMES_48 \
    ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_SHARED_NAMES_80 \
    WGMMA_SHARED_NAMES_64 \
    ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_SHARED_NAMES_96 \
    WGMMA_SHARED_NAMES_80 \
    ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_SHARED_NAMES_112 \
    WGMMA_SHARED_NAMES_96 \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define WGMMA_SHARED_NAMES_128 \
    WGMMA_SHARED_NAMES_112 \
    ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

WGMMA_SHARED_TYPES(64, 32, WGMMA_SHARED_NAMES_32, "%32", "%33", "%34")
WGMMA_SHARED_TYPES(96, 48, WGMMA_SHARED_NAMES_48, "%48", "%49", "%50")
WGMMA_SHARED_TYPES(128, 64, WGMMA_SHARED_NAMES_64, "%64", "%65", "%66")
WGMMA_SHARED_TYPES(160, 80, WGMMA_SHARED_NAMES_80, "%80", "%81", "%82")
WGMMA_SHARED_TYPES(192, 96, WGMMA_SHARED_NAMES_96, "%96", "%97", "%98")
WGMMA_SHARED_TYPES(224, 112, WGMMA_SHARED_NAMES_112, "%112", "%113", "%114")
WGMMA_SHARED_TYPES(256, 128, WGMMA_SHARED_NAMES_128, "%128", "%129", "%130")

#else
#include <emulated/wgmma_shared.cuh>
#endif
