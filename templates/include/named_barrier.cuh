// named_barrier.cuh: barriers for some warps of a block, so that producers and consumers synchronise without stopping
// all warps. A block has 16 barriers; number 0 is that of __syncthreads. `threads` counts the threads that wait and the
// threads that only arrive; the count is a multiple of 32, and the same in all calls for a barrier.
#pragma once

// named_barrier_wait arrives at a barrier and waits for the other threads.
__device__ __forceinline__ void named_barrier_wait(int number, int threads) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
    autotune_named_barrier(number, threads, 1);
#endif
}

// named_barrier_arrive arrives at a barrier without waiting.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
    autotune_named_barrier(number, threads, 0);
#endif
}
