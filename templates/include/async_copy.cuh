// async_copy.cuh: asynchronous copies from global to shared memory by cp.async (sm_80 and later). Older GPUs copy
// synchronously.
//
// Usage:
//
//   async_copy<16>(shared, global);     starts a copy.
//   async_copy_commit();                closes a group of copies.
//   ...
//   async_copy_wait<1>();               waits until at most one group is in flight.
//   __syncthreads();                    makes the data visible to all threads of the block.
//
// Both addresses must be aligned to the size of the copy.
#pragma once

#if __CUDA_ARCH__ >= 800

// async_copy_partial copies the first `present` of Bytes bytes and fills the rest with zeros. Even if `present` is 0,
// `global` must be a valid address.
template <int Bytes>
__device__ __forceinline__ void async_copy_partial(void* shared, const void* global, int present) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16) // .cg bypasses L1 and exists for 16 bytes only
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(present) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(Bytes), "r"(present)
                     : "memory");
}

template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(Bytes) : "memory");
}

// async_copy_cached copies Bytes bytes through L1 (cp.async.ca), which merges a warp's reads of one cache line even if
// their destinations are not contiguous. If `valid` is false, async_copy_cached writes zeros.
template <int Bytes>
__device__ __forceinline__ void async_copy_cached(void* shared, const void* global, bool valid) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(Bytes),
                 "r"(valid ? Bytes : 0)
                 : "memory");
}

// async_copy_commit closes a group: all copies that this thread started since its last commit.
__device__ __forceinline__ void async_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// async_copy_wait waits until at most Groups of this thread's groups of copies are still in flight.
template <int Groups>
__device__ __forceinline__ void async_copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

// async_copy_wait_all waits for all asynchronous copies of this thread.
__device__ __forceinline__ void async_copy_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#else

#ifdef AUTOTUNE_EMULATOR
#include <emulated/async_copy.cuh>
#else // before sm_80: synchronous copies
template <int Bytes>
__device__ __forceinline__ void async_copy_partial(void* shared, const void* global, int present) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    for (int i = 0; i < Bytes; ++i)
        static_cast<char*>(shared)[i] = i < present ? static_cast<const char*>(global)[i] : 0;
}
__device__ __forceinline__ void async_copy_commit() {}
template <int Groups> __device__ __forceinline__ void async_copy_wait() {}
__device__ __forceinline__ void async_copy_wait_all() {}
#endif

template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global) {
    async_copy_partial<Bytes>(shared, global, Bytes);
}
template <int Bytes>
__device__ __forceinline__ void async_copy_cached(void* shared, const void* global, bool valid) {
    async_copy_partial<Bytes>(shared, global, valid ? Bytes : 0);
}

#endif

// async_copy copies Bytes bytes asynchronously, or writes zeros if `valid` is false.
template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global, bool valid) {
    async_copy_partial<Bytes>(shared, global, valid ? Bytes : 0);
}
