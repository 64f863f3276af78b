// async_proxy.cuh: the fence between threads and the units that access shared memory asynchronously: Hopper's copy
// engine and warpgroup products.
#pragma once

// publish_to_async_proxy makes this thread's writes to shared memory visible to the copy engine and to warpgroup
// products, once the threads have passed a barrier.
__device__ __forceinline__ void publish_to_async_proxy() {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
