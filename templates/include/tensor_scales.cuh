// tensor_scales.cuh: scales the whole input by one power of two (power_scale.cuh), and all weights by another. A
// launch of kShares blocks finds the largest magnitudes, one block for each part of both tensors. `scales` holds the
// blocks' largest magnitudes for the input, those for the weights, and the inverses of both powers of two.
#pragma once
#include "dependent_launch.cuh"
#include "element.cuh"
#include "power_scale.cuh"

constexpr int kShares = 256;

enum Scaled { the_input, the_weights };

// largest_of returns the largest magnitude of a thread's elements. largest_of reads from the last element to the
// first, so that the L2 holds the first elements for the next launch.
__device__ __forceinline__ unsigned largest_of(const Element* from, long long count) {
    constexpr int width = 4, together = 8;
    const long long threads = static_cast<long long>(kShares) * blockDim.x, vectors = count / width;
    unsigned most = 0;
    const auto take = [&](float x) { most = max(most, as_magnitude(x)); };
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (thread < count % width) take(to_float(from[vectors * width + thread]));
    for (long long last = vectors - 1 - thread; last >= 0; last -= threads * together) {
        float v[together][width] = {};
#pragma unroll
        for (int j = 0; j < together; ++j)
            if (last >= j * threads) load_elements<width>(v[j], from + (last - j * threads) * width);
#pragma unroll
        for (int j = 0; j < together; ++j)
#pragma unroll
            for (int k = 0; k < width; ++k) take(v[j][k]);
    }
    return most;
}

__device__ __forceinline__ unsigned largest_of_warp(unsigned most) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) most = max(most, __shfl_xor_sync(0xffffffffu, most, apart));
    return most;
}

// find_largest is the body of the kernel that finds the largest magnitudes of input and weights.
__device__ __forceinline__ void find_largest(const Element* x, long long inputs, const Element* weight, long long weights, float* scales) {
    begin_dependents();
    __shared__ unsigned most[2];
    if (threadIdx.x < 2) most[threadIdx.x] = 0;
    __syncthreads();
    const unsigned of[2] = {largest_of_warp(largest_of(x, inputs)), largest_of_warp(largest_of(weight, weights))};
    if (threadIdx.x % 32 == 0) {
        atomicMax(&most[the_input], of[the_input]);
        atomicMax(&most[the_weights], of[the_weights]);
    }
    __syncthreads();
    if (threadIdx.x < 2) scales[threadIdx.x * kShares + blockIdx.x] = __uint_as_float(most[threadIdx.x]);
}

__device__ __forceinline__ void find_largest_of_convolution(const Element* x, const Element* weight, float* scales) {
    const long long taps = static_cast<long long>(KERNEL_D) * KERNEL_H * KERNEL_W;
    find_largest(x, static_cast<long long>(N) * C * D * H * W, weight, taps * C_GROUP * C_OUT, scales);
}

// scale_of computes the power of two that scales the input or the weights. All lanes of a warp must call scale_of.
__device__ __forceinline__ PowerScale scale_of(const float* scales, Scaled of) {
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < kShares; i += 32) most = max(most, __float_as_uint(scales[of * kShares + i + threadIdx.x % 32]));
    return PowerScale(largest_of_warp(most));
}

// TensorScales contains the powers of two that scale input and weights.
struct TensorScales {
    PowerScale input, weights;
    __device__ __forceinline__ explicit TensorScales(const float* scales)
        : input(MATH_TF32 ? PowerScale(0) : scale_of(scales, the_input)), weights(MATH_TF32 ? PowerScale(0) : scale_of(scales, the_weights)) {}
    __device__ __forceinline__ float sum(float scaled) const { return MATH_TF32 ? scaled : unscaled(scaled, input.inverse, weights.inverse); }
};

__device__ __forceinline__ void keep_inverse(float* scales, Scaled of, const PowerScale& scale) { scales[2 * kShares + of] = scale.inverse; }
__device__ __forceinline__ float inverse_of(const float* scales, Scaled of) { return scales[2 * kShares + of]; }
