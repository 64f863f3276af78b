// bulk_copy.cuh: bulk copies by the copy engine of a Hopper GPU (sm_90 on): one thread passes the addresses and the
// size, and the copy takes no registers and no further instructions.
//
// A store from shared memory takes these steps:
//
//   every thread writes its part with ordinary stores.
//   every thread calls publish_to_async_proxy().
//   __syncthreads()
//   some threads call bulk_store(), then bulk_store_commit().
//   ... other work ...
//   the same threads call bulk_store_wait_read(): the shared memory may be overwritten.
//
// mbarrier.cuh describes a load. If threads have written to the shared memory that a load will fill, they call
// publish_to_async_proxy() before a barrier, which precedes the load; if they have only read it, the barrier is enough.
//
// Both addresses of a bulk copy and its size must be multiples of 16 bytes. Stored data is visible to later kernels;
// before a kernel ends, it must have waited until the copy engine has read its shared memory.
#pragma once
#include "async_proxy.cuh"
#include "mbarrier.cuh"

#ifndef AUTOTUNE_EMULATOR

// bulk_load starts copying `bytes` bytes from global to shared memory; the barrier `barrier` counts them when they have
// arrived.
__device__ __forceinline__ void bulk_load(void* shared, const void* global, int bytes, Mbarrier* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(global), "r"(bytes),
                   "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
                 : "memory");
}

__device__ __forceinline__ void bulk_store(void* global, const void* shared, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(global), "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "r"(bytes)
                 : "memory");
}

// bulk_store_hinted is bulk_store with a hint: Streaming tells the L2 that the bytes will not be read soon.
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

// bulk_store_commit makes a group of the bulk stores that this thread started since its last group.
__device__ __forceinline__ void bulk_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// bulk_store_wait_read waits until the copy engine has read the shared memory of this thread's groups of stores, except
// for the newest Groups groups.
template <int Groups = 0>
__device__ __forceinline__ void bulk_store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory");
}

#else
#include <emulated/bulk_copy.cuh>
#endif
