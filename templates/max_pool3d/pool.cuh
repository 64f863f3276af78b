// pool.cuh: what max pools make of a window: its maximum.
#pragma once
#include "pooling.cuh"

struct Pool : Maximum {
    static __device__ __forceinline__ float finish(float maximum, int, int, int) { return maximum; }
};
