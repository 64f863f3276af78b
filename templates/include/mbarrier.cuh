// mbarrier.cuh: mbarriers, which are barriers in shared memory for threads and asynchronous copies (sm_90 and later).
//
// A phase of an mbarrier ends when all expected threads and bytes have arrived. The parity of an mbarrier's phase is 0
// for the first phase, then 1, 0, 1, and so on.
//
// These steps load data to shared memory:
//
//   one thread calls mbarrier_init() and publish_to_async_proxy().
//   __syncthreads()
//   one thread calls mbarrier_expect(), then bulk_load() (bulk_copy.cuh).
//   every thread that reads the bytes calls mbarrier_wait() with the phase's parity.
#pragma once

typedef unsigned long long Mbarrier; // in shared memory

#ifndef AUTOTUNE_EMULATOR

// mbarrier_init initialises an mbarrier that expects `arrivals` arrivals per phase.
__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, int arrivals) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}

// mbarrier_arrive arrives at an mbarrier and publishes this thread's earlier writes to threads that wait for the phase.
__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(at) : "memory");
}

// mbarrier_expect arrives at an mbarrier and announces how many bytes asynchronous copies will bring.
__device__ __forceinline__ void mbarrier_expect(Mbarrier* barrier, int bytes) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;}" ::"r"(at), "r"(bytes)
                 : "memory");
}

// mbarrier_wait waits until the mbarrier's phase with this parity has ended.
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
