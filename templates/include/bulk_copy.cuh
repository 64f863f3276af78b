// bulk_copy.cuh: bulk copies between global and shared memory (cp.async.bulk, sm_90 and later), each issued by one
// thread.
//
// These steps store data from shared to global memory:
//
//   every thread writes its data to shared memory.
//   every thread calls publish_to_async_proxy().
//   __syncthreads()
//   some threads call bulk_store(), then bulk_store_commit().
//   ... other work ...
//   the same threads call bulk_store_wait_read() before the shared memory is overwritten.
//
// Threads that have written to shared memory must call publish_to_async_proxy() and pass a barrier before a bulk load
// (mbarrier.cuh) overwrites it.
//
// Addresses and size of a bulk copy must be multiples of 16 bytes. A kernel must not end before its bulk stores have
// read the shared memory.
#pragma once
#include "async_proxy.cuh"
#include "mbarrier.cuh"

#ifndef AUTOTUNE_EMULATOR

// bulk_load starts copying `bytes` bytes from global to shared memory; the mbarrier `barrier` counts the bytes that
// arrive.
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

// bulk_store_hinted is bulk_store with an L2 hint: with Streaming, L2 evicts the stored data first.
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

// bulk_store_commit closes a group: all bulk stores that this thread started since its last commit.
__device__ __forceinline__ void bulk_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// bulk_store_wait_read waits until at most Groups of this thread's groups of stores still read shared memory.
template <int Groups = 0>
__device__ __forceinline__ void bulk_store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory");
}

#else
#include <emulated/bulk_copy.cuh>
#endif
