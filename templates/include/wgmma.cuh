// wgmma.cuh: D = A * B + D by a warpgroup, asynchronously (Hopper; compiled for sm_90a). Operand A is in registers or
// in shared memory, operand B in shared memory.
//
// wgmma_wait<Groups>(d) waits for all but the newest Groups commits. wgmma_wait_groups<Groups>() does the same
// without naming d; before d is read, wgmma_wait(d) must be called.
//
// After threads have written shared memory, each of them must call publish_to_async_proxy() (async_proxy.cuh) before
// the barrier that precedes a wgmma.
//
// D has 64 rows, 16 per warp, and Columns columns. Registers, with g = lane / 4 and t = lane % 4:
//
//   a:  as A of mma.cuh's m16n8k8 (TF32) and m16n8k16 (bf16 and fp16)
//   d:  d[4*j .. 4*j+3]: rows g, g, g+8, g+8; columns 8*j + 2*t, +1, again, +1
//
// A product takes these calls:
//
//   wgmma_fence();                             registers and shared memory are ready
//   wgmma<wgmma_of_tf32, 128>(d, a, b, false); starts a product; `false` overwrites d, `true` adds to it
//   wgmma_commit();
//   ... d, a and b must be left alone ...
//   wgmma_wait(d);                             d is complete, b may be overwritten
#pragma once

enum WgmmaType { wgmma_of_tf32, wgmma_of_bf16, wgmma_of_fp16 };

// Slabs locates operand B (or A) in shared memory as two slabs, which hold 16 bytes of each column and lie `apart`
// bytes apart; the second slab holds the upper half of the product's k.
struct Slabs {
    const char* first;
    int apart;
    static constexpr bool kAcross = false;
    __device__ __forceinline__ Slabs moved(int bytes) const { return {first + bytes, apart}; }
};

// SwizzledLines locates operand A or B as TMA stores it with swizzling (tensor_map.cuh). A line has Line bytes, 128
// or 64:
//
//   AlongK:   a line holds elements along k of one row or column; groups of eight lines may lie anywhere
//   otherwise: a line holds one k of 64 rows or columns; groups of 64 rows or columns may lie anywhere
template <bool AlongK, int Line = 128>
struct SwizzledLines {
    const char* first;  // start of the first line, for product 0; across, a multiple of eight lines
    int product;        // index of the product: within a line, or among consecutive ones
    int apart;          // bytes from 64 lines to the next (across), or from eight lines (along k; 0: consecutive)
    static constexpr bool kAcross = !AlongK;
    __device__ __forceinline__ SwizzledLines(const char* first, int product, int apart)
        : first(first), product(product), apart(apart) {}
};

#ifndef AUTOTUNE_EMULATOR

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int Groups = 0, int Sums>
__device__ __forceinline__ void wgmma_wait(float (&d)[Sums]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
#pragma unroll
    for (int i = 0; i < Sums; ++i) asm volatile("" : "+f"(d[i])::"memory");  // the compiler cannot read d before
}

template <int Groups>
__device__ __forceinline__ void wgmma_wait_groups() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

// All warps of a warpgroup call more_registers or fewer_registers to change the warpgroup's number of registers
// (setmaxnreg).
template <int Registers>
__device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

// wgmma_descriptor encodes an operand's location as a wgmma matrix descriptor, without swizzling.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const Slabs& of) {
    const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(of.first));
    return static_cast<unsigned long long>((start & 0x3ffff) >> 4) |
           static_cast<unsigned long long>((of.apart & 0x3ffff) >> 4) << 16 |
           static_cast<unsigned long long>(128 >> 4) << 32;
}

// swizzled_descriptor encodes an operand's location as a wgmma matrix descriptor, with swizzling.
//
// wgmma swizzles by address, as TMA does. A product may therefore begin at any row of a TMA box, and the descriptor's
// base offset is 0.
template <int Line>
__device__ __forceinline__ unsigned long long swizzled_descriptor(const char* first, int behind, unsigned apart,
                                                                  unsigned eights) {
    const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(first)) + behind;
    return static_cast<unsigned long long>((start & 0x3ffff) >> 4) |
           static_cast<unsigned long long>((apart & 0x3ffff) >> 4) << 16 |
           static_cast<unsigned long long>((eights & 0x3ffff) >> 4) << 32 | (Line == 128 ? 1ull : 2ull) << 62;
}
template <bool AlongK, int Line>
__device__ __forceinline__ unsigned long long wgmma_descriptor(const SwizzledLines<AlongK, Line>& of) {
    return swizzled_descriptor<Line>(of.first, of.product * (AlongK ? 32 : 2048), AlongK ? 16 : of.apart,
                                     AlongK && of.apart > 0 ? of.apart : 8 * Line);
}

// Wgmma::start issues a wgmma. AcrossA and AcrossB say that an operand in shared memory is not contiguous along k,
// which TF32 does not support.
template <WgmmaType Type, int Columns>
struct Wgmma;

#define WGMMA_SUMS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_SUMS_16(i) WGMMA_SUMS_4(i), WGMMA_SUMS_4(i + 4), WGMMA_SUMS_4(i + 8), WGMMA_SUMS_4(i + 12)
#define WGMMA_SUMS_32 WGMMA_SUMS_16(0), WGMMA_SUMS_16(16)
#define WGMMA_SUMS_36 WGMMA_SUMS_32, WGMMA_SUMS_4(32)
#define WGMMA_SUMS_40 WGMMA_SUMS_36, WGMMA_SUMS_4(36)
#define WGMMA_SUMS_44 WGMMA_SUMS_36, WGMMA_SUMS_4(36), WGMMA_SUMS_4(40)
#define WGMMA_SUMS_48 WGMMA_SUMS_44, WGMMA_SUMS_4(44)
#define WGMMA_SUMS_56 WGMMA_SUMS_48, WGMMA_SUMS_4(48), WGMMA_SUMS_4(52)
#define WGMMA_SUMS_60 WGMMA_SUMS_56, WGMMA_SUMS_4(56)
#define WGMMA_SUMS_64 WGMMA_SUMS_60, WGMMA_SUMS_4(60)
#define WGMMA_SUMS_72 WGMMA_SUMS_64, WGMMA_SUMS_4(64), WGMMA_SUMS_4(68)
#define WGMMA_SUMS_80 WGMMA_SUMS_64, WGMMA_SUMS_16(64)
#define WGMMA_SUMS_84 WGMMA_SUMS_80, WGMMA_SUMS_4(80)
#define WGMMA_SUMS_88 WGMMA_SUMS_84, WGMMA_SUMS_4(84)
#define WGMMA_SUMS_96 WGMMA_SUMS_80, WGMMA_SUMS_16(80)
#define WGMMA_SUMS_112 WGMMA_SUMS_96, WGMMA_SUMS_16(96)
#define WGMMA_SUMS_128 WGMMA_SUMS_112, WGMMA_SUMS_16(112)

#define WGMMA_NAMES_32 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_NAMES_36 WGMMA_NAMES_32 ",%32,%33,%34,%35"
#define WGMMA_NAMES_40 WGMMA_NAMES_36 ",%36,%37,%38,%39"
#define WGMMA_NAMES_44 WGMMA_NAMES_36 ",%36,%37,%38,%39,%40,%41,%42,%43"
#define WGMMA_NAMES_48 WGMMA_NAMES_44 ",%44,%45,%46,%47"
#define WGMMA_NAMES_56 WGMMA_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WGMMA_NAMES_60 WGMMA_NAMES_56 ",%56,%57,%58,%59"
#define WGMMA_NAMES_64 WGMMA_NAMES_60 ",%60,%61,%62,%63"
#define WGMMA_NAMES_72 WGMMA_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WGMMA_NAMES_80 WGMMA_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_NAMES_84 WGMMA_NAMES_80 ",%80,%81,%82,%83"
#define WGMMA_NAMES_88 WGMMA_NAMES_84 ",%84,%85,%86,%87"
#define WGMMA_NAMES_96 WGMMA_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_NAMES_112 WGMMA_NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define WGMMA_NAMES_128 WGMMA_NAMES_112 ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// WGMMA defines a specialisation of Wgmma from the number of columns, the accumulators, and the names of the
// operands.
#define WGMMA(OF, NAME, DEPTH, MAJORS, COLUMNS, SUMS, NAMES, A, B, C_, D_, E_, F_, G_)                                 \
    template <>                                                                                                        \
    struct Wgmma<OF, COLUMNS> {                                                                                        \
        template <bool AcrossA, bool AcrossB>                                                                          \
        __device__ __forceinline__ static void start(float (&d)[COLUMNS / 2], unsigned long long a,                    \
                                                     unsigned long long b, bool add) {                                 \
            asm volatile("{.reg .pred p; setp.ne.b32 p, " C_ ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS         \
                         DEPTH ".f32." NAME "." NAME " {" NAMES "}, " A ", " B ", p, 1, 1"                             \
                         MAJORS(", " D_ ", " E_) ";}"                                                                  \
                         : WGMMA_SUMS_##SUMS                                                                           \
                         : "l"(a), "l"(b), "r"((int)add), "n"((int)AcrossA), "n"((int)AcrossB));                       \
        }                                                                                                              \
        template <bool AcrossB>                                                                                        \
        __device__ __forceinline__ static void start(float (&d)[COLUMNS / 2], const unsigned (&a)[4],                  \
                                                     unsigned long long b, bool add) {                                 \
            asm volatile("{.reg .pred p; setp.ne.b32 p, " F_ ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS         \
                         DEPTH ".f32." NAME "." NAME " {" NAMES "}, {" A "," B "," C_ "," D_ "}, " E_ ", p, 1, 1"      \
                         MAJORS(", " G_) ";}"                                                                          \
                         : WGMMA_SUMS_##SUMS                                                                           \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add), "n"((int)AcrossB));      \
        }                                                                                                              \
    };
#define WGMMA_MAJORS(NAMES) NAMES
#define WGMMA_NO_MAJORS(NAMES)
#define WGMMA_TYPES(...)                                                        \
    WGMMA(wgmma_of_tf32, "tf32", "k8", WGMMA_NO_MAJORS, __VA_ARGS__)            \
    WGMMA(wgmma_of_bf16, "bf16", "k16", WGMMA_MAJORS, __VA_ARGS__)              \
    WGMMA(wgmma_of_fp16, "f16", "k16", WGMMA_MAJORS, __VA_ARGS__)

WGMMA_TYPES(64, 32, WGMMA_NAMES_32, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
WGMMA_TYPES(72, 36, WGMMA_NAMES_36, "%36", "%37", "%38", "%39", "%40", "%41", "%42")
WGMMA_TYPES(80, 40, WGMMA_NAMES_40, "%40", "%41", "%42", "%43", "%44", "%45", "%46")
WGMMA_TYPES(88, 44, WGMMA_NAMES_44, "%44", "%45", "%46", "%47", "%48", "%49", "%50")
WGMMA_TYPES(96, 48, WGMMA_NAMES_48, "%48", "%49", "%50", "%51", "%52", "%53", "%54")
WGMMA_TYPES(112, 56, WGMMA_NAMES_56, "%56", "%57", "%58", "%59", "%60", "%61", "%62")
WGMMA_TYPES(120, 60, WGMMA_NAMES_60, "%60", "%61", "%62", "%63", "%64", "%65", "%66")
WGMMA_TYPES(128, 64, WGMMA_NAMES_64, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
WGMMA_TYPES(144, 72, WGMMA_NAMES_72, "%72", "%73", "%74", "%75", "%76", "%77", "%78")
WGMMA_TYPES(160, 80, WGMMA_NAMES_80, "%80", "%81", "%82", "%83", "%84", "%85", "%86")
WGMMA_TYPES(168, 84, WGMMA_NAMES_84, "%84", "%85", "%86", "%87", "%88", "%89", "%90")
WGMMA_TYPES(176, 88, WGMMA_NAMES_88, "%88", "%89", "%90", "%91", "%92", "%93", "%94")
WGMMA_TYPES(192, 96, WGMMA_NAMES_96, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
WGMMA_TYPES(224, 112, WGMMA_NAMES_112, "%112", "%113", "%114", "%115", "%116", "%117", "%118")
WGMMA_TYPES(256, 128, WGMMA_NAMES_128, "%128", "%129", "%130", "%131", "%132", "%133", "%134")

template <WgmmaType Type, int Columns, class A, class B, bool AcrossA = A::kAcross>
__device__ __forceinline__ void wgmma(float (&d)[Columns / 2], const A& a, const B& b, bool add = true) {
    Wgmma<Type, Columns>::template start<AcrossA, B::kAcross>(d, wgmma_descriptor(a), wgmma_descriptor(b), add);
}
template <WgmmaType Type, int Columns, class B>
__device__ __forceinline__ void wgmma(float (&d)[Columns / 2], const unsigned (&a)[4], const B& b, bool add = true) {
    Wgmma<Type, Columns>::template start<B::kAcross>(d, a, wgmma_descriptor(b), add);
}

#else
#include <emulated/wgmma.cuh>
#endif
