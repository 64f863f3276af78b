// wgmma.cuh: D = A * B + D by the four warps of a warpgroup together, in the
// background (Hopper; compiled for sm_90a): A in registers, B in shared memory.
//
// D has 64 rows, 16 a warp, and Columns columns. With g = lane / 4, t = lane % 4 and
// counting in the warp's own rows:
//
//   a      as A of mma.cuh's m16n8k8 (TF32, 8 deep) and m16n8k16 (fp16, 16 deep)
//   d      d[4*j .. 4*j+3]: rows g, g, g+8, g+8; columns 8*j + 2*t, +1, again, +1
//   b      columns of 16 bytes side by side; a product takes two such slabs, the
//          lower half of its depth in the first, the upper in the second
//
// A product takes these calls:
//
//   wgmma_fence();                      registers and shared memory are ready
//   wgmma_tf32<128>(d, a, b, false);    start some; the first may replace d
//   wgmma_commit();
//   ... d, a and b must be left alone ...
//   wgmma_wait(d);                      d is there, b may be overwritten
//
// wgmma_wait<Groups>(d) leaves the newest Groups commits in flight.
//
// Shared memory that threads wrote reaches the tensor cores only after
// publish_to_async_proxy() (async_proxy.cuh) in each writer and a barrier.
#pragma once

// Slabs locates B: the first column's first 16 bytes, and the distance in bytes
// to the second slab.
struct Slabs {
    const char* first;
    int apart;
    __device__ __forceinline__ Slabs moved(int bytes) const { return {first + bytes, apart}; }
};

#ifndef AUTOTUNE_EMULATOR

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int Groups = 0, int Sums>
__device__ __forceinline__ void wgmma_wait(float (&d)[Sums]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
#pragma unroll
    for (int i = 0; i < Sums; ++i) asm volatile("" : "+f"(d[i])::"memory");  // the compiler reads d only after this
}

// more_registers and fewer_registers move registers between warpgroups. Every warp
// of a warpgroup must call it, and the block's registers must suffice for all.
template <int Registers>
__device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

// wgmma_descriptor packs B's address: no swizzle, and 128 bytes from 8 columns to
// the next 8.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const Slabs& b) {
    const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(b.first));
    return static_cast<unsigned long long>((start & 0x3ffff) >> 4) |
           static_cast<unsigned long long>((b.apart & 0x3ffff) >> 4) << 16 | static_cast<unsigned long long>(128 >> 4) << 32;
}

template <int Columns>
__device__ void wgmma_tf32(float (&d)[Columns / 2], const unsigned (&a)[4], const Slabs& b, bool add);
template <int Columns>
__device__ void wgmma_fp16(float (&d)[Columns / 2], const unsigned (&a)[4], const Slabs& b, bool add);

// One instruction a width: its operands are the sums by name. Those of wider products are of other headers'.
#define WGMMA_SUMS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_SUMS_16(i) WGMMA_SUMS_4(i), WGMMA_SUMS_4(i + 4), WGMMA_SUMS_4(i + 8), WGMMA_SUMS_4(i + 12)
#define WGMMA_SUMS_32 WGMMA_SUMS_16(0), WGMMA_SUMS_16(16)
#define WGMMA_SUMS_36 WGMMA_SUMS_32, WGMMA_SUMS_4(32)
#define WGMMA_SUMS_44 WGMMA_SUMS_36, WGMMA_SUMS_4(36), WGMMA_SUMS_4(40)
#define WGMMA_SUMS_48 WGMMA_SUMS_44, WGMMA_SUMS_4(44)
#define WGMMA_SUMS_56 WGMMA_SUMS_48, WGMMA_SUMS_4(48), WGMMA_SUMS_4(52)
#define WGMMA_SUMS_60 WGMMA_SUMS_56, WGMMA_SUMS_4(56)
#define WGMMA_SUMS_64 WGMMA_SUMS_60, WGMMA_SUMS_4(60)
#define WGMMA_SUMS_80 WGMMA_SUMS_64, WGMMA_SUMS_16(64)
#define WGMMA_SUMS_96 WGMMA_SUMS_80, WGMMA_SUMS_16(80)
#define WGMMA_SUMS_112 WGMMA_SUMS_96, WGMMA_SUMS_16(96)
#define WGMMA_SUMS_128 WGMMA_SUMS_112, WGMMA_SUMS_16(112)

#define WGMMA_NAMES_32 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_NAMES_36 WGMMA_NAMES_32 ",%32,%33,%34,%35"
#define WGMMA_NAMES_44 WGMMA_NAMES_36 ",%36,%37,%38,%39,%40,%41,%42,%43"
#define WGMMA_NAMES_48 WGMMA_NAMES_44 ",%44,%45,%46,%47"
#define WGMMA_NAMES_56 WGMMA_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WGMMA_NAMES_60 WGMMA_NAMES_56 ",%56,%57,%58,%59"
#define WGMMA_NAMES_64 WGMMA_NAMES_60 ",%60,%61,%62,%63"
#define WGMMA_NAMES_80 WGMMA_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_NAMES_96 WGMMA_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_NAMES_112 WGMMA_NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define WGMMA_NAMES_128 WGMMA_NAMES_112 ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

#define WGMMA(NAME, TYPE, MAJOR, COLUMNS, DEPTH, SUMS, NAMES, A0, A1, A2, A3, B, ADD)                                \
    template <>                                                                                                     \
    __device__ __forceinline__ void NAME<COLUMNS>(float (&d)[COLUMNS / 2], const unsigned (&a)[4], const Slabs& b,   \
                                                  bool add) {                                                       \
        asm volatile("{.reg .pred p; setp.ne.b32 p, " ADD ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS         \
                     "k" #DEPTH ".f32." #TYPE "." #TYPE " {" NAMES "}, {" A0 "," A1 "," A2 "," A3 "}, " B           \
                     ", p, 1, 1" MAJOR ";}"                                                                         \
                     : WGMMA_SUMS_##SUMS                                                                            \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_descriptor(b)), "r"((int)add));        \
    }
#define WGMMA_BOTH(COLUMNS, SUMS, NAMES, ...)                                     \
    WGMMA(wgmma_tf32, tf32, "", COLUMNS, 8, SUMS, NAMES, __VA_ARGS__)             \
    WGMMA(wgmma_fp16, f16, ", 0", COLUMNS, 16, SUMS, NAMES, __VA_ARGS__)

WGMMA_BOTH(64, 32, WGMMA_NAMES_32, "%32", "%33", "%34", "%35", "%36", "%37")
WGMMA_BOTH(72, 36, WGMMA_NAMES_36, "%36", "%37", "%38", "%39", "%40", "%41")
WGMMA_BOTH(88, 44, WGMMA_NAMES_44, "%44", "%45", "%46", "%47", "%48", "%49")
WGMMA_BOTH(96, 48, WGMMA_NAMES_48, "%48", "%49", "%50", "%51", "%52", "%53")
WGMMA_BOTH(112, 56, WGMMA_NAMES_56, "%56", "%57", "%58", "%59", "%60", "%61")
WGMMA_BOTH(120, 60, WGMMA_NAMES_60, "%60", "%61", "%62", "%63", "%64", "%65")
WGMMA_BOTH(128, 64, WGMMA_NAMES_64, "%64", "%65", "%66", "%67", "%68", "%69")

#else
#include <emulated/wgmma.cuh>
#endif
