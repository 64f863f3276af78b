// async_proxy.cuh: the fence between threads and the units that read shared
// memory on their own: Hopper's copy engine and warpgroup products.
#pragma once

// publish_to_async_proxy makes this thread's writes to shared memory visible to
// those units, once the threads have met at a barrier.
__device__ __forceinline__ void publish_to_async_proxy() {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
