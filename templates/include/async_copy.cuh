// async_copy.cuh: asynchronous copies from global to shared memory (cp.async, from sm_80 on; ordinary copies on older
// GPUs).
//
//   async_copy<16>(shared, global);     starts a copy.
//   async_copy_commit();                the copies form a group.
//   ...
//   async_copy_wait<1>();               all groups but the newest have arrived.
//   __syncthreads();                    in every thread of the block
//
// Both addresses must be multiples of the size. A thread waits only for its own copies: copies of other threads have
// arrived after a following barrier.
#pragma once

#if __CUDA_ARCH__ >= 800

// async_copy_partial copies the first `present` of Bytes bytes and fills the rest with zeros. If `present` is 0 nothing
// is read, but the address must be valid.
template <int Bytes>
__device__ __forceinline__ void async_copy_partial(void* shared, const void* global, int present) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16) // bypasses L1, which needs whole 16 bytes
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

// async_copy_cached starts a copy of Bytes bytes through L1, or of zeros when the source is not valid. Through L1, the
// copies of a warp that touch one cache line become one request, wherever their destinations are in shared memory. If
// copies bypass L1, the 16-byte copies of a warp are merged only if their destinations are contiguous, too.
template <int Bytes>
__device__ __forceinline__ void async_copy_cached(void* shared, const void* global, bool valid) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(Bytes),
                 "r"(valid ? Bytes : 0)
                 : "memory");
}

// async_copy_commit makes a group of the copies that this thread started since its last group.
__device__ __forceinline__ void async_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// async_copy_wait waits until at most Groups of this thread's groups are still in flight.
template <int Groups>
__device__ __forceinline__ void async_copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

// async_copy_wait_all waits for every copy of this thread, committed or not.
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

// async_copy starts a copy of Bytes bytes, or of zeros when the source is not valid.
template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global, bool valid) {
    async_copy_partial<Bytes>(shared, global, valid ? Bytes : 0);
}
