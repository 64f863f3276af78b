// wgmma_swizzled.cuh: wgmma (wgmma.cuh) of operands that lie in shared memory as the copy engine puts them with a tensor
// map (tensor_map.cuh), swizzled. A product takes 32 bytes of k, 16 elements of bf16 or fp16 or eight of TF32, of 64 rows
// and of up to 256 columns: lines. Those of either operand may lie
//
//   along k   128 bytes are elements of k of a line; eight lines follow each other, and the next eight are
//             somewhere behind. Lines may have 64 bytes, too
//   across    (of 16 bits) 128 bytes are an element of k of 64 lines; the elements of k follow each other,
//             and the next 64 lines are somewhere behind
//
// Rows may be registers, too, as in wgmma.cuh. Fences, commits and waits are wgmma.cuh's and
// wgmma_shared.cuh's.
#pragma once
#include "wgmma_shared.cuh"

enum WgmmaType { wgmma_of_tf32, wgmma_of_bf16, wgmma_of_fp16 };

// SwizzledLines locates a product's elements of k of an operand, whose lines have so many bytes.
template <bool AlongK, int Line = 128>
struct SwizzledLines {
    const char* first;  // the first line's bytes, of the first of some products; across, a multiple of eight lines
    int product;        // which of them: of those in a line, or of those that follow each other
    int apart;          // bytes from 64 lines to the next (across), from eight to the next (along k; 0: all follow each other)
    __device__ __forceinline__ SwizzledLines(const char* first, int product, int apart)
        : first(first), product(product), apart(apart) {}
};

#ifndef AUTOTUNE_EMULATOR

// swizzled_descriptor packs where lines lie, so many bytes behind `first`. Eight of them follow each other, and the next
// eight begin `eights` bytes further on. apart counts the bytes from 128 of lines that lie side by side to the next; along
// k it means nothing.
//
// A product swaps pieces of 16 bytes by their addresses, as the copy engine did. So it may begin between any two
// lines of what the engine brought: the base offset, which tells of patterns that begin elsewhere, stays zero.
template <int Line>
__device__ __forceinline__ unsigned long long swizzled_descriptor(const char* first, int behind, unsigned apart,
                                                                  unsigned eights) {
    const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(first)) + behind;
    return static_cast<unsigned long long>((start & 0x3ffff) >> 4) |
           static_cast<unsigned long long>((apart & 0x3ffff) >> 4) << 16 |
           static_cast<unsigned long long>((eights & 0x3ffff) >> 4) << 32 | (Line == 128 ? 1ull : 2ull) << 62;
}
template <bool AlongK, int Line>
__device__ __forceinline__ unsigned long long swizzled_descriptor(const SwizzledLines<AlongK, Line>& of) {
    return swizzled_descriptor<Line>(of.first, of.product * (AlongK ? 32 : 2048), AlongK ? 16 : of.apart,
                                     AlongK && of.apart > 0 ? of.apart : 8 * Line);
}

// start starts a product, by descriptors, and first one that replaces the sums. AcrossA, AcrossB: the
// operand's lines lie across.
template <WgmmaType Type, int Columns>
struct WgmmaSwizzled;

// The columns, the sums, the sums' names, and the names of a, b and the two transpositions, which TF32 has not; a in
// registers has the first four, before b, its transposition.
#define WGMMA_SWIZZLED(OF, NAME, DEPTH, MAJORS, COLUMNS, SUMS, NAMES, A, B, MAJOR_A, MAJOR_B, FIFTH, SIXTH)            \
    template <>                                                                                                        \
    struct WgmmaSwizzled<OF, COLUMNS> {                                                                                \
        typedef float Sums[COLUMNS / 2];                                                                               \
        template <int AcrossA, int AcrossB>                                                                            \
        __device__ __forceinline__ static void start(Sums& d, unsigned long long a, unsigned long long b) {            \
            asm volatile("wgmma.mma_async.sync.aligned.m64n" #COLUMNS DEPTH ".f32." NAME "." NAME " {" NAMES           \
                         "}, " A ", " B ", 1, 1, 1" MAJORS(", " MAJOR_A ", " MAJOR_B) ";"                              \
                         : WGMMA_SUMS_##SUMS                                                                           \
                         : "l"(a), "l"(b), "n"(AcrossA), "n"(AcrossB));                                                \
        }                                                                                                              \
        template <int AcrossA, int AcrossB>                                                                            \
        __device__ __forceinline__ static void first(Sums& d, unsigned long long a, unsigned long long b) {            \
            asm volatile("{.reg .pred p; setp.ne.b32 p, " FIFTH ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS      \
                         DEPTH ".f32." NAME "." NAME " {" NAMES "}, " A ", " B ", p, 1, 1"                             \
                         MAJORS(", " MAJOR_A ", " MAJOR_B) ";}"                                                        \
                         : WGMMA_SUMS_##SUMS                                                                           \
                         : "l"(a), "l"(b), "n"(AcrossA), "n"(AcrossB), "r"(0));                                        \
        }                                                                                                              \
        template <int AcrossB>                                                                                         \
        __device__ __forceinline__ static void start(Sums& d, const unsigned (&a)[4], unsigned long long b) {          \
            asm volatile("wgmma.mma_async.sync.aligned.m64n" #COLUMNS DEPTH ".f32." NAME "." NAME " {" NAMES           \
                         "}, {" A ", " B ", " MAJOR_A ", " MAJOR_B "}, " FIFTH ", 1, 1, 1" MAJORS(", " SIXTH) ";"      \
                         : WGMMA_SUMS_##SUMS                                                                           \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(AcrossB));                          \
        }                                                                                                              \
    };
#define WGMMA_MAJORS(NAMES) NAMES
#define WGMMA_NO_MAJORS(NAMES)
#define WGMMA_SWIZZLED_TYPES(...)                                                                                      \
    WGMMA_SWIZZLED(wgmma_of_tf32, "tf32", "k8", WGMMA_NO_MAJORS, __VA_ARGS__)                                          \
    WGMMA_SWIZZLED(wgmma_of_bf16, "bf16", "k16", WGMMA_MAJORS, __VA_ARGS__)                                            \
    WGMMA_SWIZZLED(wgmma_of_fp16, "f16", "k16", WGMMA_MAJORS, __VA_ARGS__)

#define WGMMA_SUMS_40 WGMMA_SUMS_36, WGMMA_SUMS_4(36)
#define WGMMA_SUMS_72 WGMMA_SUMS_64, WGMMA_SUMS_4(64), WGMMA_SUMS_4(68)
#define WGMMA_SUMS_84 WGMMA_SUMS_80, WGMMA_SUMS_4(80)
#define WGMMA_SUMS_88 WGMMA_SUMS_84, WGMMA_SUMS_4(84)
#define WGMMA_NAMES_40 WGMMA_NAMES_36 ",%36,%37,%38,%39"
#define WGMMA_NAMES_72 WGMMA_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WGMMA_NAMES_84 WGMMA_NAMES_80 ",%80,%81,%82,%83"
#define WGMMA_NAMES_88 WGMMA_NAMES_84 ",%84,%85,%86,%87"
WGMMA_SWIZZLED_TYPES(64, 32, WGMMA_NAMES_32, "%32", "%33", "%34", "%35", "%36", "%37")
WGMMA_SWIZZLED_TYPES(80, 40, WGMMA_NAMES_40, "%40", "%41", "%42", "%43", "%44", "%45")
WGMMA_SWIZZLED_TYPES(96, 48, WGMMA_NAMES_48, "%48", "%49", "%50", "%51", "%52", "%53")
WGMMA_SWIZZLED_TYPES(128, 64, WGMMA_NAMES_64, "%64", "%65", "%66", "%67", "%68", "%69")
WGMMA_SWIZZLED_TYPES(144, 72, WGMMA_NAMES_72, "%72", "%73", "%74", "%75", "%76", "%77")
WGMMA_SWIZZLED_TYPES(160, 80, WGMMA_NAMES_80, "%80", "%81", "%82", "%83", "%84", "%85")
WGMMA_SWIZZLED_TYPES(168, 84, WGMMA_NAMES_84, "%84", "%85", "%86", "%87", "%88", "%89")
WGMMA_SWIZZLED_TYPES(176, 88, WGMMA_NAMES_88, "%88", "%89", "%90", "%91", "%92", "%93")
WGMMA_SWIZZLED_TYPES(192, 96, WGMMA_NAMES_96, "%96", "%97", "%98", "%99", "%100", "%101")
WGMMA_SWIZZLED_TYPES(224, 112, WGMMA_NAMES_112, "%112", "%113", "%114", "%115", "%116", "%117")
WGMMA_SWIZZLED_TYPES(256, 128, WGMMA_NAMES_128, "%128", "%129", "%130", "%131", "%132", "%133")

// wgmma_swizzled starts a product.
template <WgmmaType Type, int Columns, bool RowsAlongK, bool ColumnsAlongK, int Line>
__device__ __forceinline__ void wgmma_swizzled(float (&d)[Columns / 2], const SwizzledLines<RowsAlongK, Line>& a,
                                               const SwizzledLines<ColumnsAlongK, Line>& b) {
    WgmmaSwizzled<Type, Columns>::template start<!RowsAlongK, !ColumnsAlongK>(d, swizzled_descriptor(a),
                                                                              swizzled_descriptor(b));
}

// wgmma_swizzled_first starts one that replaces the sums.
template <WgmmaType Type, int Columns, bool RowsAlongK, bool ColumnsAlongK>
__device__ __forceinline__ void wgmma_swizzled_first(float (&d)[Columns / 2], const SwizzledLines<RowsAlongK>& a,
                                                     const SwizzledLines<ColumnsAlongK>& b) {
    WgmmaSwizzled<Type, Columns>::template first<!RowsAlongK, !ColumnsAlongK>(d, swizzled_descriptor(a),
                                                                              swizzled_descriptor(b));
}

template <WgmmaType Type, int Columns, bool ColumnsAlongK>
__device__ __forceinline__ void wgmma_swizzled(float (&d)[Columns / 2], const unsigned (&a)[4],
                                               const SwizzledLines<ColumnsAlongK>& b) {
    WgmmaSwizzled<Type, Columns>::template start<!ColumnsAlongK>(d, a, swizzled_descriptor(b));
}

#else
#include <emulated/wgmma_swizzled.cuh>
#endif
