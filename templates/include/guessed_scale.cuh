// guessed_scale.cuh: computes the powers of two of tensor_scales.cuh, which scale input and weights, without a launch
// that first reads all elements. Each power is guessed from a sample of the elements. While blocks convert elements
// with the guessed power, each block finds the largest magnitude of its share. If the guessed power scales an element
// beyond the range of fp16, the next launch converts all elements again. A wrong guess is rare, since the guess leaves
// room for magnitudes at least eight times as large as the sample's.
//
// `scales` holds MAKING_BLOCKS numbers for the input, as many for the weights, then both guesses, then the inverses of
// the powers that were finally used. All threads of a block must call the functions of this file; blocks have 256
// threads, unless the template parameter Warps says otherwise. Kernels that convert elements on the fly, without
// storing them for another launch, do not define MAKING_BLOCKS and do not use GuessedScales.
#pragma once
#include "tensor_scales.cuh"

// largest_of_block returns the largest value of all threads of the block.
template <int Warps = 8>
__device__ __forceinline__ unsigned largest_of_block(unsigned most) {
    __shared__ unsigned of_warps[Warps];
    most = largest_of_warp(most);
    __syncthreads();  // all threads have read the result of an earlier call
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Warps; ++i) most = max(most, of_warps[i]);
    return most;
}

// sampled returns the largest magnitude of the thread's elements of a sample. The sample has 512 elements in 16 places,
// each of them whole cache lines: single elements all over the tensor would read one sector each. Warps with an index
// of eight or more sample further places.
__device__ __forceinline__ unsigned sampled(const Element* from, long long count) {
    constexpr int each = 2;
    const long long runs = count / 32;
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
        const long long run = runs > 0 ? (threadIdx.x / 32 + i * 8) * (runs / (8 * each) | 1) % runs : 0, at = run * 32 + threadIdx.x % 32;
        if (at < count) most = max(most, as_magnitude(to_float(from[at])));
    }
    return most;
}

// guessed_scale computes the power of two as if the tensor's largest magnitude were four times that of the sample.
template <int Warps = 8>
__device__ __forceinline__ PowerScale guessed_scale(unsigned sampled) {
    return PowerScale(largest_of_block<Warps>(sampled) + (2u << 23));
}

// holds tells whether a power of two is small enough to scale elements whose largest magnitude is `most`: fp16 rounds
// numbers below 65520 to finite ones.
__device__ __forceinline__ bool holds(float power, unsigned most) { return __uint_as_float(most) * power < 65520.0f; }

#ifdef MAKING_BLOCKS
struct GuessedScales {
    float* scales;

    __device__ __forceinline__ float& guess(Scaled of) const { return scales[2 * MAKING_BLOCKS + of]; }
    __device__ __forceinline__ float& inverse(Scaled of) const { return scales[2 * MAKING_BLOCKS + 2 + of]; }

    // leave stores the largest magnitude that a block has converted with the guessed power, and the guess itself.
    __device__ __forceinline__ void leave(Scaled of, const PowerScale& guessed, unsigned most) const {
        most = largest_of_block(most);
        if (threadIdx.x > 0) return;
        scales[of * MAKING_BLOCKS + blockIdx.x] = __uint_as_float(most);
        if (blockIdx.x == 0) guess(of) = guessed.power, inverse(of) = guessed.inverse;
    }
    // left returns the largest of the block maxima that a thread reads; `leave` has stored one maximum per block.
    __device__ __forceinline__ unsigned left(Scaled of) const {
        unsigned most = 0;
        for (int i = threadIdx.x; i < MAKING_BLOCKS; i += 256) most = max(most, __float_as_uint(scales[of * MAKING_BLOCKS + i]));
        return most;
    }
    // If the guessed power of two was too large, again calls make(scale) with the right one.
    template <class F>
    __device__ __forceinline__ void again(Scaled of, unsigned left, const F& make) const {
        const unsigned most = largest_of_block(left);
        if (holds(guess(of), most)) return;
        const PowerScale scale(most);
        if (blockIdx.x == 0 && threadIdx.x == 0) inverse(of) = scale.inverse;
        make(scale);
    }
};
#endif
