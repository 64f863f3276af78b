// multicast.cuh: TMA loads that the CLUSTER blocks of a cluster share (sm_90a). Each block loads a part of the data,
// and TMA multicasts it to the same shared-memory offset in all blocks. A block signals by mbarrier_arrive_at that it
// has read the data and that shared memory may be overwritten.
//
// All blocks call meet_cluster after they have initialised their mbarriers, and once more before they end.
#pragma once
#include "tensor_map.cuh"

#ifndef CLUSTER
#define CLUSTER 1
#endif

__device__ __forceinline__ int rank_in_cluster() { return CLUSTER > 1 ? __clusterRelativeBlockRank() : 0; }

__device__ __forceinline__ void meet_cluster() {
    __syncwarp();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

#ifndef AUTOTUNE_EMULATOR

// mbarrier_arrive_at arrives at the mbarrier at the same offset in another block's shared memory.
__device__ __forceinline__ void mbarrier_arrive_at(Mbarrier* barrier, int rank) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(at), "r"(rank)
                 : "memory");
}

// tensor_load_multicast is a tensor_load into the shared memory of all blocks of the cluster.
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
