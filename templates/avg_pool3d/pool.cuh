// pool.cuh: what avg_pool3d makes of a window: its sum, divided as PyTorch counts it.
#pragma once
#include "average_volume.cuh"
#include "pooling.cuh"

struct Pool : Sum {
    static __device__ __forceinline__ float finish(float sum, int slice, int row, int column) {
        return average_volume(sum, slice, row, column);
    }
};
