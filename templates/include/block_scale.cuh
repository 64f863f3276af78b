// block_scale.cuh: the power of two of an input or of weights (tensor_scales.cuh) for all of a block. One warp reads
// what all shares found: if every warp did, thousands of them would ask the L2 for the same few lines.
#pragma once
#include "tensor_scales.cuh"

// block_scale is called by all threads of a block, once for either.
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
