// guessed_scale.cuh: the powers of two of tensor_scales.cuh, without a launch that reads all factors before they are
// made. A sample guesses the power. Blocks that make factors by it find the largest magnitude meanwhile, each of its
// share. The next launch makes them again where that would leave the range of fp16. That is seldom: the guess leaves room
// for magnitudes eight times as large as the sample's, or more.
//
// `scales` has room for MAKING_BLOCKS numbers of the input, and as many of the weights. Behind them are both guesses, and
// the inverses of what holds. Blocks have 256 threads, or as many warps as a function is told, and all of a block call
// these functions. Kernels that make factors for themselves alone need no GuessedScales, and define no MAKING_BLOCKS.
#pragma once
#include "tensor_scales.cuh"

// largest_of_block is the largest that a thread has.
template <int Warps = 8>
__device__ __forceinline__ unsigned largest_of_block(unsigned most) {
    __shared__ unsigned of_warps[Warps];
    most = largest_of_warp(most);
    __syncthreads();  // an earlier call has been read
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Warps; ++i) most = max(most, of_warps[i]);
    return most;
}

// sampled is the largest of a thread's elements of a sample: of 512 in 16 places, whole lines of the L2. Thousands of
// single elements would be as many sectors, for every block. Warps beyond the eighth add places.
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

// guessed_scale takes the largest of a sample for a quarter of the largest of all.
template <int Warps = 8>
__device__ __forceinline__ PowerScale guessed_scale(unsigned sampled) {
    return PowerScale(largest_of_block<Warps>(sampled) + (2u << 23));
}

// holds tells whether a power suits factors whose largest magnitude is `most`: fp16 rounds less than 65520 to no infinity.
__device__ __forceinline__ bool holds(float power, unsigned most) { return __uint_as_float(most) * power < 65520.0f; }

#ifdef MAKING_BLOCKS
struct GuessedScales {
    float* scales;

    __device__ __forceinline__ float& guess(Scaled of) const { return scales[2 * MAKING_BLOCKS + of]; }
    __device__ __forceinline__ float& inverse(Scaled of) const { return scales[2 * MAKING_BLOCKS + 2 + of]; }

    // leave is of the launch that makes factors by a guess: a thread's largest of them.
    __device__ __forceinline__ void leave(Scaled of, const PowerScale& guessed, unsigned most) const {
        most = largest_of_block(most);
        if (threadIdx.x > 0) return;
        scales[of * MAKING_BLOCKS + blockIdx.x] = __uint_as_float(most);
        if (blockIdx.x == 0) guess(of) = guessed.power, inverse(of) = guessed.inverse;
    }
    // left is the largest of what a thread reads of all blocks'.
    __device__ __forceinline__ unsigned left(Scaled of) const {
        unsigned most = 0;
        for (int i = threadIdx.x; i < MAKING_BLOCKS; i += 256) most = max(most, __float_as_uint(scales[of * MAKING_BLOCKS + i]));
        return most;
    }
    // again calls make(scale) where the guess does not hold.
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
