// packed_operands.cuh: the producer of slab_gemm.cuh for operands that are packed in memory in the layout of products
// (slab_operands.cuh). The producer is one warp, whose lanes share the bulk copies of a stage; nothing is converted.
//
// gemm_tiles.cuh describes the required members of Work. mma_gemm.cuh is another mainloop for packed operands.
#pragma once
#include "bulk_copy.cuh"
#include "slab_gemm.cuh"

struct CopyEngine {
    typedef SlabProducts Products;
    template <class Work>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const PackedOperands& operands) {
        const long long slab = static_cast<long long>(Work::columns()) * 16;
        constexpr int copies = kBlocks + kSlabs * PLANES;
        const int lane = threadIdx.x % 32;
        Turn turn;
        for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
            const Tile tile = Tiles<Work>::at(index);
            const Stages stages = Tiles<Work>::stages(index);
            // Each lane has a copy in each stage: a block of A, or a slab of B.
            const int in_b = lane - kBlocks;
            const char* const rows = operands.rows<Work>(tile, lane);
            for (int s = stages.first; s < stages.end; ++s, turn.next()) {
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                if (lane == 0) mbarrier_expect(pipeline.full(turn.slot), STAGE_BYTES);
                __syncwarp();
                char* const stage = pipeline.stage(turn.slot);
                if (lane < kBlocks)
                    bulk_load(stage + lane * DEPTH * kBlockStepBytes, rows + static_cast<long long>(s) * DEPTH * kBlockStepBytes,
                              DEPTH * kBlockStepBytes, pipeline.full(turn.slot));
                else if (lane < copies)
                    bulk_load(stage + STAGE_A_BYTES + in_b * COLUMN_SLAB_BYTES, operands.columns<Work>(tile, s) + in_b * slab, COLUMN_SLAB_BYTES,
                              pipeline.full(turn.slot));
            }
        }
    }
};

template <class Work, class Stored, class Plain = int>
__device__ __forceinline__ void packed_gemm(char* memory, const PackedOperands& operands, typename Work::Output::Given given, Stored* y,
                                            const Plain& plain = 0) {
    slab_gemm<Work, CopyEngine>(memory, operands, given, y, plain);
}
