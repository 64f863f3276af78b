// mapped_operands.cuh: the producer of slab_gemm.cuh for matrices that the copy engine brings
// as they are, by tensor maps (tensor_map.cuh): one thread asks for the boxes of a stage.
// Nothing is packed.
//
// Boxes are how the stages lie in memory: swizzled_operands.cuh has those of TF32,
// swizzled_16bit.cuh those of 16 bits. They have Products, and load<Work>(stage, operands,
// tile, k, full), which starts the copies of a stage from an element of k on.
//
// It asks of Work, besides what slab_gemm.cuh does:
//
//   Operands         MappedOperands
//   rows_of(group), columns_of(group)  which of the maps' matrices are a product's
#pragma once
#include "slab_gemm.cuh"
#include "tensor_map.cuh"

template <class Boxes>
struct TensorMaps {
    typedef typename Boxes::Products Products;

    template <class Work>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const MappedOperands& operands) {
        if (threadIdx.x % 32 != 0) return;
        operands.prefetch();
        Turn turn;
        for (TakenTiles<Work> taken; taken.more(); taken.next()) {
            const Tile tile = Tiles<Work>::at(taken.index);
            for (int s = taken.stages.first; s < taken.stages.end; ++s, turn.next()) {
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                mbarrier_expect(pipeline.full(turn.slot), STAGE_BYTES);
                Boxes::template load<Work>(pipeline.stage(turn.slot), operands, tile, s * DEPTH * kStepDepth, pipeline.full(turn.slot));
            }
        }
    }
};

// mapped_gemm is the whole kernel.
template <class Work, class Boxes, class Stored>
__device__ __forceinline__ void mapped_gemm(uint4* memory, const MappedOperands& operands, typename Work::Output::Given given, Stored* y,
                                            const LeftSums& left = {}) {
    slab_gemm<Work, TensorMaps<Boxes>>(reinterpret_cast<char*>(memory), operands, given, y, 0, left);
}
