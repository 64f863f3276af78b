// mbarrier.cuh: barriers in shared memory that threads and the copy engine meet
// at (sm_90 on).
//
// A phase of such a barrier ends when as many threads have arrived as it was
// made for, and all the bytes that they announced are there. Phases alternate
// between parity 0, the first, and 1.
//
//   one thread calls mbarrier_init() and publish_to_async_proxy()
//   __syncthreads()
//   one thread calls mbarrier_expect(), then bulk_load() (bulk_copy.cuh)
//   every thread that reads the bytes calls mbarrier_wait() with the phase's parity
#pragma once

typedef unsigned long long Mbarrier; // in shared memory

// mbarrier_init makes a barrier for that many arrivals a phase.
__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, int arrivals) {
#if defined(AUTOTUNE_EMULATOR)
    autotune_mbarrier_init(barrier, arrivals);
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
#endif
}

// mbarrier_arrive arrives; what this thread did before is done for those that wait.
__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier) {
#if defined(AUTOTUNE_EMULATOR)
    autotune_mbarrier_arrive(barrier, 0);
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(at) : "memory");
#endif
}

// mbarrier_expect arrives and announces bytes that bulk loads will bring.
__device__ __forceinline__ void mbarrier_expect(Mbarrier* barrier, int bytes) {
#if defined(AUTOTUNE_EMULATOR)
    autotune_mbarrier_arrive(barrier, bytes);
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    asm volatile("{.reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;}" ::"r"(at), "r"(bytes)
                 : "memory");
#endif
}

// mbarrier_wait waits for the end of the phase under way or, if that has the
// other parity, finds that it has ended.
__device__ __forceinline__ void mbarrier_wait(Mbarrier* barrier, int parity) {
#if defined(AUTOTUNE_EMULATOR)
    autotune_mbarrier_wait(barrier, parity);
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
    unsigned ended;
    do {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(ended)
                     : "r"(at), "r"(parity)
                     : "memory");
    } while (!ended);
#endif
}
