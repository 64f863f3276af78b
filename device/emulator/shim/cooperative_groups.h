// cooperative_groups.h: the groups of CUDA's header of that name: grids, clusters,
// blocks, tiles of a warp's lanes and single threads.
#pragma once

namespace cooperative_groups {

class thread_block {
 public:
  static void sync() { __syncthreads(); }
  static unsigned thread_rank() { return autotune_rank(threadIdx, blockDim); }
  static unsigned num_threads() { return autotune_volume(blockDim); }
  static unsigned size() { return num_threads(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
};

class grid_group {
 public:
  struct arrival_token {};
  static bool is_valid() { return true; }
  static arrival_token barrier_arrive() { return autotune_group_arrive(AUTOTUNE_GRID), arrival_token(); }
  static void barrier_wait(arrival_token = arrival_token()) { autotune_group_wait(AUTOTUNE_GRID); }
  static void sync() { barrier_wait(barrier_arrive()); }
  static unsigned long long block_rank() { return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z); }
  static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long thread_rank() { return block_rank() * thread_block::num_threads() + thread_block::thread_rank(); }
  static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned long long size() { return num_threads(); }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static unsigned long long cluster_rank() { return autotune_rank(__clusterIdx(), __clusterGridDimInClusters()); }
  static unsigned long long num_clusters() { return autotune_volume(__clusterGridDimInClusters()); }
  static dim3 cluster_index() { return __clusterIdx(); }
  static dim3 dim_clusters() { return __clusterGridDimInClusters(); }
};

class cluster_group {
 public:
  struct arrival_token {};
  static arrival_token barrier_arrive() { return __cluster_barrier_arrive(), arrival_token(); }
  static void barrier_wait(arrival_token = arrival_token()) { __cluster_barrier_wait(); }
  static void sync() { barrier_wait(barrier_arrive()); }
  static unsigned block_rank() { return __clusterRelativeBlockRank(); }
  static unsigned num_blocks() { return __clusterSizeInBlocks(); }
  static unsigned thread_rank() { return block_rank() * thread_block::num_threads() + thread_block::thread_rank(); }
  static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned size() { return num_threads(); }
  static dim3 block_index() { return __clusterRelativeBlockIdx(); }
  static dim3 dim_blocks() { return __clusterDim(); }
  static dim3 thread_index() {
    const dim3 b = block_index();
    return dim3(b.x * blockDim.x + threadIdx.x, b.y * blockDim.y + threadIdx.y, b.z * blockDim.z + threadIdx.z);
  }
  static dim3 dim_threads() {
    const dim3 b = dim_blocks();
    return dim3(b.x * blockDim.x, b.y * blockDim.y, b.z * blockDim.z);
  }
  template <class T> static T* map_shared_rank(T* address, unsigned rank) { return static_cast<T*>(autotune_map_shared(address, rank)); }
  static unsigned query_shared_rank(const void* address) { return __cluster_query_shared_rank(address); }
};

// What tiles have in common: some neighbouring lanes of a warp.
class AutotuneLanes {
 public:
  AutotuneLanes(unsigned lanes) : lanes_(lanes) {}
  void sync() const { __syncwarp(mask()); }
  unsigned thread_rank() const { return unsigned(autotune_lane()) % lanes_; }
  unsigned num_threads() const { return lanes_; }
  unsigned size() const { return lanes_; }
  unsigned meta_group_rank() const { return thread_block::thread_rank() / lanes_; }
  unsigned meta_group_size() const { return (thread_block::num_threads() + lanes_ - 1) / lanes_; }
  template <class T> T shfl(T value, unsigned source) const { return __shfl_sync(mask(), value, int(source), int(lanes_)); }
  template <class T> T shfl_up(T value, unsigned delta) const { return __shfl_up_sync(mask(), value, delta, int(lanes_)); }
  template <class T> T shfl_down(T value, unsigned delta) const { return __shfl_down_sync(mask(), value, delta, int(lanes_)); }
  template <class T> T shfl_xor(T value, unsigned bits) const { return __shfl_xor_sync(mask(), value, int(bits), int(lanes_)); }
  int any(int predicate) const { return __any_sync(mask(), predicate); }
  int all(int predicate) const { return __all_sync(mask(), predicate); }
  unsigned ballot(int predicate) const { return __ballot_sync(mask(), predicate) >> first(); }

 private:
  unsigned first() const { return unsigned(autotune_lane()) & ~(lanes_ - 1); }
  unsigned mask() const { return (lanes_ == 32 ? ~0u : (1u << lanes_) - 1) << first(); }
  unsigned lanes_;
};

// The lanes that happen to run together: here that is always one alone, which CUDA
// allows.
class coalesced_group : public AutotuneLanes {
 public:
  coalesced_group() : AutotuneLanes(1) {}
};

template <unsigned Size, class Parent = void>
class thread_block_tile : public AutotuneLanes {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "the emulator has tiles of 1, 2, 4, 8, 16 or 32 threads");

 public:
  thread_block_tile() : AutotuneLanes(Size) {}
  template <class Other> thread_block_tile(const thread_block_tile<Size, Other>&) : AutotuneLanes(Size) {}
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
};

inline thread_block this_thread_block() { return thread_block(); }
inline grid_group this_grid() { return grid_group(); }
inline cluster_group this_cluster() { return cluster_group(); }
inline thread_block_tile<1> this_thread() { return thread_block_tile<1>(); }
inline coalesced_group coalesced_threads() { return coalesced_group(); }
template <unsigned Size, class Parent> inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return thread_block_tile<Size, Parent>(); }

template <class Group> inline void sync(const Group& g) { g.sync(); }
template <class Group> inline auto thread_rank(const Group& g) { return g.thread_rank(); }
template <class Group> inline auto group_size(const Group& g) { return g.size(); }

}  // namespace cooperative_groups
