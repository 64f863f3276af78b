// named_barrier.cuh: barriers for some warps of a block, so that producers and
// consumers meet without stopping everyone. A block has 16; number 0 is that of
// __syncthreads. `threads` counts those that wait and those that only arrive, a
// multiple of 32, the same at every call for a number.
#pragma once

// named_barrier_wait arrives and waits for the others.
__device__ __forceinline__ void named_barrier_wait(int number, int threads) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
    autotune_named_barrier(number, threads, 1);
#endif
}

// named_barrier_arrive arrives and goes on.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
    autotune_named_barrier(number, threads, 0);
#endif
}
