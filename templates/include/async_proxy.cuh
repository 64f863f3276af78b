// async_proxy.cuh: the proxy fence that TMA and wgmma need before they read what threads wrote to shared memory.
#pragma once

// publish_to_async_proxy makes this thread's writes to shared memory visible to TMA and wgmma after the next barrier.
__device__ __forceinline__ void publish_to_async_proxy() {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
