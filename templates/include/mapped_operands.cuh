// mapped_operands.cuh: the producer of slab_gemm.cuh that loads both operands by TMA (tensor_map.cuh). One thread
// issues all TMA loads of a stage, which contains DEPTH steps of 16 elements along k.
//
// If k is the contiguous axis, a TMA box holds LINE bytes (128 by default) of each row of A or column of B. If k is the
// slow axis, a box of 16-bit elements holds 64 rows or columns for all k of the stage.
//
// TMA rounds floats to TF32, ties to even. If k is the slow axis of A, TMA boxes hold 32 rows of floats, which
// consumers load into registers.
//
// The class Work needs these members besides those of slab_gemm.cuh:
//
//   Operands:                          MappedOperands,
//   rows_of(group), columns_of(group): the indices of a product's A and B in the tensor maps,
//   kRowsAlongK, kColumnsAlongK:       whether k is the contiguous axis of A, and of B.
//
// Set the macro STREAMING if few tiles read each column of B, all at about the same time.
#pragma once
#include "slab_gemm.cuh"
#include "tensor_map.cuh"

#ifndef STREAMING
#define STREAMING 0
#endif
#ifndef LINE
#define LINE 128
#endif

constexpr int kStageDepth = DEPTH * kStepDepth, kProductDepth = kOfParts == one_tf32 ? 8 : 16;  // elements along k
constexpr int kLineBytes = LINE, kLineProducts = kLineBytes / 32;                               // bytes and wgmmas along k of a box
constexpr int kAtomDepth = kLineProducts * kProductDepth, kAtoms = kStageDepth / kAtomDepth;    // elements along k of a box; boxes along k of a stage
constexpr int kStageProducts = kStageDepth / kProductDepth;
static_assert(kPartCount == 1 && PLANES % DEPTH == 0 && kStageDepth % kAtomDepth == 0, "whole lines of k");
static_assert(STAGE_BYTES % 1024 == 0 && STAGE_A_BYTES % 1024 == 0, "boxes begin at multiples of 1024 bytes");

// tensor_load_streaming is tensor_load with an L2 hint (evict first), for data that is read only once.
template <int Share>
__device__ __forceinline__ void tensor_load_streaming(void* shared, const TensorMap* map, const int (&at)[3],
                                                      Mbarrier* barrier) {
#ifndef AUTOTUNE_EMULATOR
#define STREAMING_LOAD(MULTICAST, BLOCKS)                                                                              \
    asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"                         \
                 " cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes" MULTICAST              \
                 ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5]" BLOCKS ", policy;}"                                  \
                 :                                                                                                     \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(map), "r"(at[0]), "r"(at[1]),     \
                   "r"(at[2]), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))),                          \
                   "h"(static_cast<unsigned short>((1 << Share) - 1))                                                  \
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

// Lines loads Count rows of A or columns of B by TMA, one part per block of a cluster, and locates them for wgmma.
template <bool AlongK, int Count, int Share = 1, bool Streaming = false>
struct Lines {
    static constexpr int kBoxes = AlongK ? kAtoms : Count / 64;
    static constexpr int kBoxBytes = AlongK ? kLineBytes * Count : 128 * kStageDepth;
    typedef SwizzledLines<AlongK, kLineBytes> Located;

    __device__ __forceinline__ static void load(char* stage, const TensorMap* map, int line, int k, int matrix,
                                                Mbarrier* full) {
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
    // at returns the wgmma operand that begins at row or column `first`, a multiple of 64.
    __device__ __forceinline__ static Located at(const char* stage, int first, int product) {
        if constexpr (AlongK)
            return {stage + product / kLineProducts * kBoxBytes + first * kLineBytes, product % kLineProducts, 0};
        return {stage + first / 64 * kBoxBytes, product, kBoxBytes};
    }
};

// MappedProducts issues the wgmmas of a stage. With FromRegisters, wgmma takes A from registers, for floats that are
// not rounded yet or whose slow axis is k.
template <bool FromRegisters>
struct MappedProducts {
    static constexpr bool kFromRegisters = false;

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns,
                                                 int /*index*/, int block, int column) {
        wgmma_fence();
#pragma unroll
        for (int p = 0; p < kStageProducts; ++p)
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r)
                wgmma<kFactors, COLUMNS>(
                    sums[r], Lines<Work::kRowsAlongK, TILE_M>::at(stage, (block + r) * kBlockRows, p),
                    Lines<Work::kColumnsAlongK, TILE_N>::at(columns, column, p));
    }
};

constexpr int kRowsBoxBytes = kStageProducts * 8 * 128;  // bytes of 32 rows of A whose slow axis is k
template <>
struct MappedProducts<true> {
    static constexpr bool kFromRegisters = true;

    // One half of the stage is loaded into registers while wgmma multiplies the other half.
    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns,
                                                 int /*index*/, int block, int column) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            constexpr int products = kStageProducts / 2;
            unsigned a[products][ROW_BLOCKS][4];
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r) {
                const int row = warp_row<MappedProducts>(block, r) + threadIdx.x % 32 / 4, k = threadIdx.x % 4;
#pragma unroll
                for (int p = 0; p < products; ++p)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        a[p][r][i] = element<Work::kRowsAlongK>(stage, row + i % 2 * 8, half * products + p,
                                                                k + i / 2 * 4);
            }
            wgmma_fence();
#pragma unroll
            for (int p = 0; p < products; ++p)
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r)
                    wgmma<kFactors, COLUMNS>(sums[r], a[p][r],
                                             Lines<true, TILE_N>::at(columns, column, half * products + p));
            if (half == 0) {
                wgmma_commit();
                wgmma_wait_groups<1>();
            }
        }
    }

    template <bool RowsAlongK>
    __device__ __forceinline__ static unsigned element(const char* boxes, int row, int product, int k) {
        if constexpr (RowsAlongK) {
            const int piece = product % 4 * 2 + k / 4 ^ row % 8;
            const char* const at = boxes + product / 4 * TILE_M * 128 + row * 128 + piece * 16 + k % 4 * 4;
            return round_to_tf32(*reinterpret_cast<const float*>(at));
        } else {
            const int at = product * 8 + k % 4 * 2 + k / 4, piece = row % 32 / 4 ^ at % 8;  // order of k in the box: 0, 4, 1, 5, 2, 6, 3, 7
            return *reinterpret_cast<const unsigned*>(boxes + row / 32 * kRowsBoxBytes + at * 128 + piece * 16 +
                                                      row % 4 * 4);
        }
    }
};

template <class Work>
struct TensorMaps {
    static constexpr bool kOfTf32 = kFactors == wgmma_of_tf32, kRowsAcross = kOfTf32 && !Work::kRowsAlongK;
    typedef MappedProducts<kRowsAcross> Products;

    __device__ __forceinline__ static void load(char* stage, const MappedOperands& operands, const Tile& tile, int k,
                                                Mbarrier* full) {
        const int row = tile.m * TILE_M, column = tile.n * TILE_N;
        const int rows = Work::rows_of(tile.group), columns = Work::columns_of(tile.group);
        if constexpr (!kOfTf32) {
            Lines<Work::kRowsAlongK, TILE_M>::load(stage, operands.rows, row, k, rows, full);
            typedef Lines<Work::kColumnsAlongK, TILE_N, CLUSTER, STREAMING> Columns;
            Columns::load(stage + STAGE_A_BYTES, operands.columns, column, k, columns, full);
        } else {
            if constexpr (kRowsAcross)
#pragma unroll
                for (int i = 0; i < TILE_M / 32; ++i)
                    tensor_load(stage + i * kRowsBoxBytes, operands.rows, {row + i * 32, 0, 0, k / 8, rows}, full);
#pragma unroll
            for (int atom = 0; atom < kAtoms; ++atom) {
                const int at = k + atom * kAtomDepth;
                if constexpr (!kRowsAcross)
                    tensor_load(stage + atom * TILE_M * 128, operands.rows, {at, row, rows}, full);
                tensor_load(stage + STAGE_A_BYTES + atom * TILE_N * 128, operands.columns, {at, column, columns}, full);
            }
        }
    }

    template <class Of>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const MappedOperands& operands) {
        if (threadIdx.x % 32 != 0) return;
        operands.prefetch();
        Turn turn;
        for (TakenTiles<Of> taken; taken.more(); taken.next()) {
            const Tile tile = Tiles<Of>::at(taken.index);
            for (int s = taken.stages.first; s < taken.stages.end; ++s, turn.next()) {
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                mbarrier_expect(pipeline.full(turn.slot), STAGE_BYTES);
                load(pipeline.stage(turn.slot), operands, tile, s * kStageDepth, pipeline.full(turn.slot));
            }
        }
    }
};

template <class Work, class Stored>
__device__ __forceinline__ void mapped_gemm(uint4* memory, const MappedOperands& operands,
                                            typename Work::Output::Given given, Stored* y, const LeftSums& left = {}) {
    slab_gemm<Work, TensorMaps<Work>>(reinterpret_cast<char*>(memory), operands, given, y, 0, left);
}
