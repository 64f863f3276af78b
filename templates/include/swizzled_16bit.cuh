// swizzled_16bit.cuh: mapped_operands.cuh's boxes of matrices of bf16 or fp16. No thread touches
// a factor: products take lines, rows of A and columns of B, that lie along k in memory and
// those that lie across (wgmma_16bit.cuh).
//
// A stage is DEPTH steps of 16. Lines along k come in boxes of LINE bytes, 128 unless it is defined, of all of the
// tile's; a stage has whole ones. Lines across come in boxes of 64 with all of the stage's k.
//
// It asks of Work, besides what mapped_operands.cuh does, kRowsAlongK and kColumnsAlongK: how
// the lines lie in memory. STREAMING, where it is defined: whether few tiles, at about the same time, read a column.
#pragma once
#include "element.cuh"
#include "mapped_operands.cuh"
#include "wgmma_16bit.cuh"

#ifndef STREAMING
#define STREAMING 0
#endif
#ifndef LINE
#define LINE 128
#endif

constexpr int kStageDepth = DEPTH * kStepDepth;  // elements of k
constexpr int kLineBytes = LINE, kAtomDepth = LINE / 2, kAtoms = kStageDepth / kAtomDepth;  // elements of k in a line
static_assert(kPartCount == 1 && PLANES % DEPTH == 0 && kStageDepth % kAtomDepth == 0, "whole lines of k");
static_assert(STAGE_BYTES % 1024 == 0 && STAGE_A_BYTES % 1024 == 0, "boxes begin at multiples of 1024 bytes");

// tensor_load_streaming is tensor_load of what is read within a short time and never again, to all blocks that Share
// it: the L2 gives it up first, and keeps what else it holds, which it may have to write back first.
template <int Share>
__device__ __forceinline__ void tensor_load_streaming(void* shared, const TensorMap* map, const int (&at)[3], Mbarrier* barrier) {
#ifndef AUTOTUNE_EMULATOR
#define STREAMING_LOAD(MULTICAST, BLOCKS)                                                                                                     \
    asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"                                                \
                 " cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes" MULTICAST                                     \
                 ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5]" BLOCKS ", policy;}"                                                         \
                 :                                                                                                                            \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]),                \
                   "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "h"(static_cast<unsigned short>((1 << Share) - 1))          \
                 : "memory")
    if constexpr (Share > 1)
        STREAMING_LOAD(".multicast::cluster", ", %6");
    else
        STREAMING_LOAD("", "");
#else
    if constexpr (Share > 1)
        tensor_load_multicast(shared, map, at, barrier);
    else
        tensor_load(shared, map, at, barrier);
#endif
}

// Lines are a tile's rows or columns, Count of them: the map that brings them, the copies of a
// stage, and where a product finds them.
template <bool AlongK, int Count, int Share = 1, bool Streaming = false>  // blocks that have them in common load a part each
struct Lines {
    static constexpr int kBoxes = AlongK ? kAtoms : Count / 64, kSteps = kAtomDepth / kStepDepth;
    static constexpr int kBoxBytes = AlongK ? kLineBytes * Count : 128 * kStageDepth;
    typedef SwizzledLines<AlongK, kLineBytes> Located;

    __device__ __forceinline__ static void load(char* stage, const TensorMap* map, int line, int k, int matrix, Mbarrier* full) {
        static_assert(AlongK || kBoxes % Share == 0, "each block loads as many boxes");
        const int first = Share > 1 && AlongK ? rank_in_cluster() * (Count / Share) : 0;
#pragma unroll
        for (int i = 0; i < kBoxes; ++i) {
            const int at[3] = {AlongK ? k + i * kAtomDepth : line + i * 64, AlongK ? line + first : k, matrix};
            char* const to = stage + i * kBoxBytes + first * kLineBytes;
            if (Share > 1 && !AlongK && i % Share != rank_in_cluster()) continue;
            if constexpr (Streaming)
                tensor_load_streaming<Share>(to, map, at, full);
            else if constexpr (Share > 1)
                tensor_load_multicast(to, map, at, full);
            else
                tensor_load(to, map, at, full);
        }
    }
    // at is a step of the lines from `first` on, a multiple of 64.
    __device__ __forceinline__ static Located at(const char* stage, int first, int step) {
        if constexpr (AlongK) return {stage + step / kSteps * kBoxBytes + first * kLineBytes, step % kSteps, 0};
        return {stage + first / 64 * kBoxBytes, step, kBoxBytes};
    }
};

struct MappedProducts {
    static constexpr bool kFromRegisters = false;

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns, int /*index*/, int block, int column) {
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < DEPTH; ++step)
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r)
                wgmma_16bit<kAreBf16, COLUMNS>(sums[r], Lines<Work::kRowsAlongK, TILE_M>::at(stage, (block + r) * kBlockRows, step),
                                               Lines<Work::kColumnsAlongK, TILE_N>::at(columns, column, step));
    }
};

struct Boxes16Bit {
    typedef MappedProducts Products;

    template <class Work>
    __device__ __forceinline__ static void load(char* stage, const MappedOperands& operands, const Tile& tile, int k, Mbarrier* full) {
        Lines<Work::kRowsAlongK, TILE_M>::load(stage, operands.rows, tile.m * TILE_M, k, Work::rows_of(tile.group), full);
        Lines<Work::kColumnsAlongK, TILE_N, CLUSTER, STREAMING>::load(stage + STAGE_A_BYTES, operands.columns, tile.n * TILE_N, k, Work::columns_of(tile.group), full);
    }
};
