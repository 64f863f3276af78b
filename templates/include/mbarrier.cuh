// mbarrier.cuh: barriers in shared memory that synchronise threads and the copy engine (sm_90 on).
//
// A phase of a barrier ends when the expected number of threads has arrived, and all the bytes that these threads
// announced. The parity of phases alternates between 0, for the first phase, and 1.
//
//   one thread calls mbarrier_init() and publish_to_async_proxy().
//   __syncthreads()
//   one thread calls mbarrier_expect(), then bulk_load() (bulk_copy.cuh).
//   every thread that reads the bytes calls mbarrier_wait() with the phase's parity.
#pragma once

typedef unsigned long long Mbarrier; // in shared memory

#ifndef AUTOTUNE_EMULATOR

// mbarrier_init initialises a barrier that expects `arrivals` arrivals per phase.
__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, int arrivals) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}

// mbarrier_arrive arrives at a barrier; earlier writes of this thread become visible to the threads that wait for it.
__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(at) : "memory");
}

// mbarrier_expect arrives at a barrier and announces how many bytes bulk loads will bring.
__device__ __forceinline__ void mbarrier_expect(Mbarrier* barrier, int bytes) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;}" ::"r"(at), "r"(bytes)
                 : "memory");
}

// mbarrier_wait waits for the end of the phase with this parity. If the barrier is already in a phase of the other
// parity, mbarrier_wait returns at once, since the phase to wait for has ended.
__device__ __forceinline__ void mbarrier_wait(Mbarrier* barrier, int parity) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    unsigned ended;
    do {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(ended)
                     : "r"(at), "r"(parity)
                     : "memory");
    } while (!ended);
}

#else
#include <emulated/mbarrier.cuh>
#endif
