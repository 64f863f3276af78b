// block_scale.cuh: computes the power of two that scales the input or the weights (tensor_scales.cuh), once per block.
// Only one warp per block reads the tensor's magnitudes, to avoid contention for the same few L2 lines.
#pragma once
#include "tensor_scales.cuh"

// All threads of a block must call block_scale, at most once for the input and once for the weights.
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
