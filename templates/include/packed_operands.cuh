// packed_operands.cuh: the producer of slab_gemm.cuh for operands that lie in memory as
// products take them (slab_operands.cuh), so that bulk copies are all that it takes: one
// warp, whose lanes share the copies of a stage. Nothing is converted.
//
// It asks of Work, besides what slab_gemm.cuh does:
//
//   Operands         PackedOperands
//   kColumns         in a slab of a plane in memory
//   kPlanes          of B in a group
//   plane(s), shift(s, tile)  where stage s begins: plane of B (with PLANES = DEPTH the
//                    first), and columns to the right of the tile's own
#pragma once
#include "bulk_copy.cuh"
#include "slab_gemm.cuh"

struct PackedOperands {
    const char *a, *b;
};

struct CopyEngine {
    typedef SlabProducts Products;
    template <class Work>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const PackedOperands& operands) {
        constexpr long long steps = static_cast<long long>(Work::kStages) * DEPTH;  // of all k
        constexpr long long slab = static_cast<long long>(Work::kColumns) * 16;
        constexpr int copies = kBlocks + 4 * PLANES;
        const int lane = threadIdx.x % 32;
        Turn turn;
        for (int index = blockIdx.x; index < Tiles<Work>::kAll; index += gridDim.x) {
            const Tile tile = Tiles<Work>::at(index);
            const Stages stages = Tiles<Work>::stages(index);
            // A lane's copy of each stage: a block of A, or a slab of B.
            const int block = tile.m * kBlocks + lane, in_b = lane - kBlocks;
            const char* const rows =
                operands.a + ((static_cast<long long>(tile.group) * Work::kParts + tile.part) * Work::kRowBlocks + (block < Work::kRowBlocks ? block : Work::kRowBlocks - 1)) *
                        steps * kBlockStepBytes;
            const char* const columns = operands.b + static_cast<long long>(tile.group) * Work::kPlanes * 4 * slab +
                                        static_cast<long long>(tile.n) * TILE_N * 16;
            for (int s = stages.first; s < stages.end; ++s, turn.next()) {
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                if (lane == 0) mbarrier_expect(pipeline.full(turn.slot), kStageBytes);
                __syncwarp();
                char* const stage = pipeline.stage(turn.slot);
                if (lane < kBlocks)
                    bulk_load(stage + lane * DEPTH * kBlockStepBytes, rows + static_cast<long long>(s) * DEPTH * kBlockStepBytes,
                              DEPTH * kBlockStepBytes, pipeline.full(turn.slot));
                else if (lane < copies)
                    bulk_load(stage + kStageABytes + in_b * kSlabBytes,
                              columns + (static_cast<long long>(Work::plane(s)) * 4 + in_b) * slab + Work::shift(s, tile) * 16ll, kSlabBytes,
                              pipeline.full(turn.slot));
            }
        }
    }
};
