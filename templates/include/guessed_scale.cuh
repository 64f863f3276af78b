// guessed_scale.cuh: guesses the powers of two that scale input and weights into the range of fp16 (tensor_scales.cuh),
// from a sample of the elements. If scaled elements overflow fp16, the next launch converts the tensor again. Overflow
// is rare, because guesses leave room for elements eight times as large as the sample's.
//
// The array `scales` holds the maxima that blocks found, the guessed powers of two, and the inverses of the final
// powers. All threads of a block must call the functions of guessed_scale.cuh.
#pragma once
#include "tensor_scales.cuh"

template <int Warps = 8>
__device__ __forceinline__ unsigned largest_of_block(unsigned most) {
    __shared__ unsigned of_warps[Warps];
    most = largest_of_warp(most);
    __syncthreads();  // all threads have read the results of an earlier call
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Warps; ++i) most = max(most, of_warps[i]);
    return most;
}

// sampled returns the largest magnitude that this thread finds in a sample of the tensor. The sample consists of 16
// runs of 32 contiguous elements, because scattered elements would waste memory sectors.
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

// guessed_scale computes the power of two for a tensor whose maximum is four times that of the sample.
template <int Warps = 8>
__device__ __forceinline__ PowerScale guessed_scale(unsigned sampled) {
    return PowerScale(largest_of_block<Warps>(sampled) + (2u << 23));
}

// holds tells whether elements up to magnitude `most` fit in fp16 after scaling by `power`.
__device__ __forceinline__ bool holds(float power, unsigned most) { return __uint_as_float(most) * power < 65520.0f; }

#ifdef MAKING_BLOCKS
struct GuessedScales {
    float* scales;

    __device__ __forceinline__ float& guess(Scaled of) const { return scales[2 * MAKING_BLOCKS + of]; }
    __device__ __forceinline__ float& inverse(Scaled of) const { return scales[2 * MAKING_BLOCKS + 2 + of]; }

    // leave stores the block's largest magnitude and the guessed power of two in `scales`.
    __device__ __forceinline__ void leave(Scaled of, const PowerScale& guessed, unsigned most) const {
        most = largest_of_block(most);
        if (threadIdx.x > 0) return;
        scales[of * MAKING_BLOCKS + blockIdx.x] = __uint_as_float(most);
        if (blockIdx.x == 0) guess(of) = guessed.power, inverse(of) = guessed.inverse;
    }
    __device__ __forceinline__ unsigned left(Scaled of) const {
        unsigned most = 0;
        for (int i = threadIdx.x; i < MAKING_BLOCKS; i += 256) most = max(most, __float_as_uint(scales[of * MAKING_BLOCKS + i]));
        return most;
    }
    // again calls make(scale) with the right power of two if the guess was too large.
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
