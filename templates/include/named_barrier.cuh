// named_barrier.cuh: named barriers, at which only some warps of a block synchronise. A block has 16 barriers;
// __syncthreads uses barrier 0. In the functions below, `threads` is the number of threads that wait or arrive at the
// barrier, a multiple of 32.
#pragma once

// named_barrier_wait arrives at a named barrier and waits until `threads` threads have arrived.
__device__ __forceinline__ void named_barrier_wait(int number, int threads) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
    autotune_named_barrier(number, threads, 1);
#endif
}

// named_barrier_arrive arrives at a named barrier without waiting.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
    autotune_named_barrier(number, threads, 0);
#endif
}
