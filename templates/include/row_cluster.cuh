// row_cluster.cuh: the state of a row that a cluster of blocks has, through their shared memory.
#pragma once
#include "row_state.cuh"

template <class Row>
__device__ __forceinline__ Row merge_cluster(Row row) {
#if SPLIT > 1
    __shared__ __align__(16) unsigned char storage[sizeof(Row)];
    if (threadIdx.x == 0) *reinterpret_cast<Row*>(storage) = row;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    row = *static_cast<const Row*>(__cluster_map_shared_rank(storage, 0));
#pragma unroll
    for (int rank = 1; rank < SPLIT; ++rank) row.merge(*static_cast<const Row*>(__cluster_map_shared_rank(storage, rank)));
    __cluster_barrier_arrive();  // no block leaves before all have read
    __cluster_barrier_wait();
#endif
    return row;
}
