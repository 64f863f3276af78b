// depthwise.cuh: a channel's own small kernel, shared by a block's threads.
//
// The macros C, KERNEL_H, KERNEL_W, STRIDE_W, DILATION_W and VEC are defined.
#pragma once

// load_weights brings a channel's kernel into shared memory; the caller
// synchronises.
template <int Threads>
__device__ __forceinline__ void load_weights(float* to, const float* weight, int channel, int thread) {
#pragma unroll 1
    for (int k = thread; k < KERNEL_H * KERNEL_W; k += Threads) to[k] = weight[channel * (KERNEL_H * KERNEL_W) + k];
}

// add_row adds the products of a span of inputs with one row of the kernel to
// VEC neighbouring outputs.
__device__ __forceinline__ void add_row(float (&outputs)[VEC], const float* span, const float* weights) {
#pragma unroll
    for (int k = 0; k < KERNEL_W; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) outputs[v] += weights[k] * span[v * STRIDE_W + k * DILATION_W];
}
