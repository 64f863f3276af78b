// indices.h: who am I. The runtime writes the running thread's indices here at
// each switch; __thread, because blocks run on several threads of the machine.
#pragma once

struct AutotuneContext {
  uint3 thread_index;
  uint3 block_index;
  uint3 block_dim;
  uint3 grid_dim;
  uint3 cluster_dim;  // in blocks; 1, 1, 1 where there are no clusters
  void* dynamic_shared;
  void* worker;
  int running;  // a block is
  int steps;    // of kernels that may spin; see the runtime's groups.h
};

extern __thread AutotuneContext autotune_context;

#define threadIdx (autotune_context.thread_index)
#define blockIdx (autotune_context.block_index)
#define blockDim (autotune_context.block_dim)
#define gridDim (autotune_context.grid_dim)
#define warpSize 32

inline int autotune_lane() {
  const AutotuneContext& c = autotune_context;
  return int((c.thread_index.x + c.block_dim.x * (c.thread_index.y + c.block_dim.y * c.thread_index.z)) & 31u);
}
