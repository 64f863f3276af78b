// mended.cuh: outputs that are infinite or NaN, added up again as their definition says.
//
// A matrix product may bring factors together that do not meet in the problem: channels of two
// groups, or an input and a tap that is another output's. Their weights are zeros then, which
// change no sum of numbers, but zero times an infinity is NaN. A Work that has such zeros
// (kMasked) has its Plain add up again all that is not finite. It pays a multiplication a sum for
// looking. Finite outputs are right: no sum loses an infinity.
#pragma once
#include "element.cuh"
#include "finite.cuh"

// Mended stands for the outputs where a Work's Output stores: what it would store is mended in place.
template <class Plain, class T>
struct Mended {
    T* y;
    const Plain& plain;
    struct Place {
        T* at;
        const Plain& plain;
        long long index;
        __device__ __forceinline__ void operator=(T) const {
            if (!is_finite(to_float(*at))) *at = plain(index);
        }
    };
    __device__ __forceinline__ Place operator[](long long index) const { return {y + index, plain, index}; }
};

// all_finite tells whether sums are. Their multiples of zero are added up in four sums.
template <int Blocks, int Count>
__device__ __forceinline__ bool all_finite(const float (&sums)[Blocks][Count]) {
    float zeros[4] = {};
#pragma unroll
    for (int i = 0; i < Blocks * Count; ++i) zeros[i % 4] += sums[i / Count][i % Count] * 0.0f;
    return zeros[0] + zeros[1] + zeros[2] + zeros[3] == 0.0f;
}
