// multicast.cuh: CLUSTER blocks that share what they load (sm_90a, launched as clusters). Each asks for
// a part of it, and the copy engine brings that to all of them: to the same place of their shared
// memory, with the bytes counted at each one's own barrier. So a place may be filled when all blocks
// have read theirs, which they tell each other (mbarrier_arrive_at).
//
// A block meets the others (meet_cluster) before the first of that, its barriers made, and at its end.
#pragma once
#include "tensor_map.cuh"

#ifndef CLUSTER
#define CLUSTER 1
#endif

__device__ __forceinline__ int rank_in_cluster() { return CLUSTER > 1 ? __clusterRelativeBlockRank() : 0; }

// meet_cluster is __syncthreads of all blocks of a cluster.
__device__ __forceinline__ void meet_cluster() {
    __syncwarp();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

#ifndef AUTOTUNE_EMULATOR

// mbarrier_arrive_at arrives at a block's barrier that is this one's counterpart. It publishes nothing that this
// block wrote: for that, all of a warp's stores would have to arrive first, stage after stage.
__device__ __forceinline__ void mbarrier_arrive_at(Mbarrier* barrier, int rank) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(at), "r"(rank)
                 : "memory");
}

// tensor_load_multicast is tensor_load to all blocks.
__device__ __forceinline__ void tensor_load_multicast(void* shared, const TensorMap* map, const int (&at)[3], Mbarrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;"
        :
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]),
          "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "h"(static_cast<unsigned short>((1 << CLUSTER) - 1))
        : "memory");
}

#else
#include <emulated/multicast.cuh>
#endif
