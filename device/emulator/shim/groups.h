// groups.h: blocks that run at once: CUDA's own functions of thread-block clusters, and of launches
// that begin before the last has ended.
// cooperative_groups.h has its words for these and for grids.
#pragma once

extern "C" {
// Barriers of all threads of the grid (0), whose launch must be cooperative, or of the
// cluster (1).
void autotune_group_arrive(int scope);
void autotune_group_wait(int scope);
// Where what is at an address of this block's shared memory is in another block's.
void* autotune_map_shared(const void* address, unsigned rank);
// The rank of the block of the cluster whose shared memory an address is in; -1: none.
int autotune_shared_rank(const void* address);
// Every thread of a dependent launch must call it.
void autotune_wait_for_launches();
}

inline void cudaGridDependencySynchronize() { autotune_wait_for_launches(); }
inline void cudaTriggerProgrammaticLaunchCompletion() {}

#define AUTOTUNE_GRID 0
#define AUTOTUNE_CLUSTER 1

inline unsigned autotune_volume(uint3 d) { return d.x * d.y * d.z; }
inline unsigned autotune_rank(uint3 i, uint3 d) { return i.x + d.x * (i.y + d.y * i.z); }

inline dim3 __clusterDim() { return autotune_context.cluster_dim; }
inline dim3 __clusterGridDimInClusters() {
  const uint3 g = gridDim, c = autotune_context.cluster_dim;
  return dim3(g.x / c.x, g.y / c.y, g.z / c.z);
}
inline dim3 __clusterIdx() {
  const uint3 b = blockIdx, c = autotune_context.cluster_dim;
  return dim3(b.x / c.x, b.y / c.y, b.z / c.z);
}
inline dim3 __clusterRelativeBlockIdx() {
  const uint3 b = blockIdx, c = autotune_context.cluster_dim;
  return dim3(b.x % c.x, b.y % c.y, b.z % c.z);
}
inline unsigned __clusterRelativeBlockRank() { return autotune_rank(__clusterRelativeBlockIdx(), autotune_context.cluster_dim); }
inline unsigned __clusterSizeInBlocks() { return autotune_volume(autotune_context.cluster_dim); }
inline void __cluster_barrier_arrive() { autotune_group_arrive(AUTOTUNE_CLUSTER); }
inline void __cluster_barrier_arrive_relaxed() { autotune_group_arrive(AUTOTUNE_CLUSTER); }
inline void __cluster_barrier_wait() { autotune_group_wait(AUTOTUNE_CLUSTER); }
inline void* __cluster_map_shared_rank(const void* address, unsigned rank) { return autotune_map_shared(address, rank); }
inline unsigned __cluster_query_shared_rank(const void* address) { return unsigned(autotune_shared_rank(address)); }
