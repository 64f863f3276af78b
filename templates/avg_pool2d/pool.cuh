// pool.cuh: what average pools make of a window: its sum, divided as PyTorch counts it.
#pragma once
#include "average.cuh"
#include "pooling.cuh"

struct Pool : Sum {
    static __device__ __forceinline__ float finish(float sum, int slice, int row, int column) {
        return average(sum, slice, row, column);
    }
};
