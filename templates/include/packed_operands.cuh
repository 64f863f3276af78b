// packed_operands.cuh: the producer warp for operands A and B that are packed in memory in wgmma's layout
// (slab_operands.cuh). The lanes of the warp share the bulk copies of each pipeline stage.
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
            // Each lane issues one bulk copy per stage: 64 rows of A, or one slab (16 bytes of each column) of B.
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
