// pool.cuh: average pooling: the sum of a window, divided by the number of elements that PyTorch counts.
#pragma once
#include "average.cuh"
#include "pooling.cuh"

struct Pool : Sum {
    static __device__ __forceinline__ float finish(float sum, int slice, int row, int column) {
        return average(sum, slice, row, column);
    }
};
