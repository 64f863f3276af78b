// bulk_fetch.cuh: the L2 reads what a block will load soon (sm_90 on): one thread asks for it, and no register
// waits. The address and the bytes are multiples of 16.
#pragma once

#ifndef AUTOTUNE_EMULATOR

// bulk_fetch makes the L2 read the bytes, and give them up first if they are read only once.
__device__ __forceinline__ void bulk_fetch(const void* from, int bytes, bool once) {
#if __CUDA_ARCH__ >= 900
    if (once)
        asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
                     " cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, policy;}" ::"l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

#endif
