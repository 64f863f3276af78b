// bulk_copy.cuh: copies that a Hopper GPU's copy engine makes by itself
// (sm_90 on): one thread gives the addresses and the size, and the bytes cost no
// register and no further instruction.
//
// A store from shared memory:
//
//   every thread writes its part with ordinary stores
//   every thread calls publish_to_async_proxy()
//   __syncthreads()
//   some threads call bulk_store(), then bulk_store_commit()
//   ... other work ...
//   the same threads call bulk_store_wait_read(): the shared memory is free again
//
// A load is described in mbarrier.cuh. Where threads wrote to shared memory that a
// load will fill, they call publish_to_async_proxy() before a barrier that lies
// between; where they only read it, the barrier is enough.
//
// Both addresses and the size must be multiples of 16 bytes. What was stored is
// visible to later kernels; a kernel that ends must have waited for its reads.
#pragma once
#include "async_proxy.cuh"
#include "mbarrier.cuh"

#ifndef AUTOTUNE_EMULATOR

// bulk_load starts copying `bytes` from global to shared memory; they count as
// arrived at `barrier` when they are there.
__device__ __forceinline__ void bulk_load(void* shared, const void* global, int bytes, Mbarrier* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(global), "r"(bytes),
                   "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
                 : "memory");
}

// bulk_store starts copying `bytes` from shared to global memory.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(global), "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "r"(bytes)
                 : "memory");
}

// bulk_store_hinted does the same; Streaming tells the L2 that nobody reads the
// bytes soon.
template <bool Streaming>
__device__ __forceinline__ void bulk_store_hinted(void* global, const void* shared, int bytes) {
    if constexpr (Streaming) {
        asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
                     " cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, policy;}"
                     :
                     : "l"(global), "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "r"(bytes)
                     : "memory");
        return;
    }
    bulk_store(global, shared, bytes);
}

// bulk_store_commit ends this thread's group of bulk stores.
__device__ __forceinline__ void bulk_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// bulk_store_wait_read waits until the copy engine has read what this thread's
// groups store, all but the newest Groups of them.
template <int Groups = 0>
__device__ __forceinline__ void bulk_store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory");
}

#else
#include <emulated/bulk_copy.cuh>
#endif
