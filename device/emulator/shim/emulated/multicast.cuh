// multicast.cuh, emulated: a multicast load becomes one load for each block of the cluster.
#pragma once

inline void mbarrier_arrive_at(Mbarrier* barrier, int rank) { autotune_mbarrier_arrive(autotune_map_shared(barrier, rank), 0); }

inline void tensor_load_multicast(void* shared, const TensorMap* map, const int (&at)[3], Mbarrier* barrier) {
    for (int rank = 0; rank < CLUSTER; ++rank)
        tensor_load(autotune_map_shared(shared, rank), map, at, static_cast<Mbarrier*>(autotune_map_shared(barrier, rank)));
}
