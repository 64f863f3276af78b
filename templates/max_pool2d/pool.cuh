// pool.cuh: the reduction of max pools: the maximum of a window.
#pragma once
#include "pooling.cuh"

struct Pool : Maximum {
    static __device__ __forceinline__ float finish(float maximum, int, int, int) { return maximum; }
};
