// multicast.cuh: shared loads of the CLUSTER blocks of a cluster (sm_90a). Each block requests a part of the data, and
// the copy engine copies that part to all blocks: to the same offset in their shared memory, with the bytes counted at
// each block's own barrier. Shared memory may be overwritten only when all blocks have read their copy, which they tell
// each other by mbarrier_arrive_at.
//
// All blocks call meet_cluster once after they have initialised their barriers and before the first multicast load, and
// once at their end.
#pragma once
#include "tensor_map.cuh"

#ifndef CLUSTER
#define CLUSTER 1
#endif

__device__ __forceinline__ int rank_in_cluster() { return CLUSTER > 1 ? __clusterRelativeBlockRank() : 0; }

// meet_cluster is a __syncthreads for all blocks of a cluster.
__device__ __forceinline__ void meet_cluster() {
    __syncwarp();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

#ifndef AUTOTUNE_EMULATOR

// mbarrier_arrive_at arrives at another block's barrier at the same offset in its shared memory. mbarrier_arrive_at
// does not publish this block's writes, since publishing would have to wait for all of a warp's stores in every stage.
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
