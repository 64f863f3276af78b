// block_scale.cuh: computes the power of two that scales an input or weights (tensor_scales.cuh), for all threads of a
// block. One warp reads the magnitudes that all shares found: if every warp did, thousands of them would request the
// same few lines from the L2.
#pragma once
#include "tensor_scales.cuh"

// block_scale must be called by all threads of a block, at most once for the input and once for the weights.
template <Scaled Of>
__device__ __forceinline__ PowerScale block_scale(const float* scales) {
    __shared__ float found[2];
    if (threadIdx.x < 32) {
        const PowerScale scale = scale_of(scales, Of);
        if (threadIdx.x == 0) found[0] = scale.power, found[1] = scale.inverse;
    }
    __syncthreads();
    PowerScale scale(0);
    scale.power = found[0], scale.inverse = found[1];
    return scale;
}
