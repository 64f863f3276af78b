// depthwise.cuh: a channel's own small kernel, shared by a block's threads.
//
// The macros C, KERNEL_H, KERNEL_W, STRIDE_W, DILATION_W and VEC are defined.
#pragma once

// load_weights brings a channel's kernel into shared memory, and returns when it
// is there.
template <int Threads>
__device__ __forceinline__ void load_weights(float* to, const float* weight, int channel, int thread) {
#pragma unroll 1
    for (int k = thread; k < KERNEL_H * KERNEL_W; k += Threads) to[k] = weight[channel * (KERNEL_H * KERNEL_W) + k];
    __syncthreads();
}

// Weights are what a thread multiplies with: a small kernel's in registers, a
// large one's in shared memory.
struct Weights {
    static constexpr bool InRegisters = KERNEL_H * KERNEL_W <= 32;
    float taps[InRegisters ? KERNEL_H * KERNEL_W : 1];
    const float* shared;

    __device__ __forceinline__ explicit Weights(const float* shared) : shared(shared) {
        if constexpr (InRegisters) {
#pragma unroll
            for (int k = 0; k < KERNEL_H * KERNEL_W; ++k) taps[k] = shared[k];
        }
    }
    __device__ __forceinline__ float operator[](int k) const {
        if constexpr (InRegisters)
            return taps[k];
        else
            return shared[k];
    }
};

// add_row adds the products of a span of inputs with row `tap` of the kernel to
// VEC neighbouring outputs.
__device__ __forceinline__ void add_row(float (&outputs)[VEC], const float* span, const Weights& weights, int tap) {
#pragma unroll
    for (int k = 0; k < KERNEL_W; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) outputs[v] += weights[tap * KERNEL_W + k] * span[v * STRIDE_W + k * DILATION_W];
}
