// async_copy.cuh: copies from global to shared memory that go on while the
// thread does something else (cp.async, sm_80 on; before that, plain copies).
//
//   async_copy<16>(shared, global);     start some
//   async_copy_commit();                they are a group
//   ...
//   async_copy_wait<1>();               all but the newest group have arrived,
//   __syncthreads();                    for every thread of the block
//
// Both addresses must be multiples of the size. A thread waits for its own
// copies only: what others copied is there after a barrier that follows.
#pragma once

#if __CUDA_ARCH__ >= 800

// async_copy_partial copies the first `present` of Bytes bytes; the others
// become zeros. With 0 present nothing is read, but the address must be legal.
template <int Bytes>
__device__ __forceinline__ void async_copy_partial(void* shared, const void* global, int present) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16) // past L1, which only whole 16 bytes can do
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(present) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(Bytes), "r"(present)
                     : "memory");
}

// async_copy copies Bytes bytes.
template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(Bytes) : "memory");
}

// async_copy_cached copies Bytes bytes, or zeros when the source is not valid, by
// way of L1. There the copies of a warp that touch one cache line become one
// request wherever they go in shared memory; past L1, copies of 16 bytes do so only
// if their destinations are neighbours too.
template <int Bytes>
__device__ __forceinline__ void async_copy_cached(void* shared, const void* global, bool valid) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(Bytes),
                 "r"(valid ? Bytes : 0)
                 : "memory");
}

// async_copy_commit makes a group of this thread's copies since the last one.
__device__ __forceinline__ void async_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// async_copy_wait waits until at most Groups of this thread's groups are under way.
template <int Groups>
__device__ __forceinline__ void async_copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

// async_copy_wait_all waits for every copy of this thread, committed or not.
__device__ __forceinline__ void async_copy_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#else

#ifdef AUTOTUNE_EMULATOR
#include <emulated/async_copy.cuh>
#else // before sm_80: copies that are finished at once
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

// async_copy copies Bytes bytes, or zeros when the source is not valid.
template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global, bool valid) {
    async_copy_partial<Bytes>(shared, global, valid ? Bytes : 0);
}
