// mended.cuh: recomputes outputs that are infinite or NaN by their definition.
//
// A matrix product may multiply elements that do not belong together: channels of two groups, or an input and a tap
// that contributes to another output. A weight that does not belong to an input is zero, which does not change a sum of
// finite numbers; but zero times infinity is NaN. If a Work has weights that are zero because they do not belong to an
// input (kMasked), its Plain recomputes all outputs that are not finite. Checking whether sums are finite costs one
// multiplication per sum. Finite outputs are always right, since a sum that contains an infinity is never finite.
#pragma once
#include "element.cuh"
#include "finite.cuh"

// Mended replaces the output pointer when a Work's Output stores: instead of storing a value, it recomputes the output
// at that place if it is not finite.
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

// all_finite tells whether all sums are finite: it multiplies each sum by zero and adds up the products, in four
// chains.
template <int Blocks, int Count>
__device__ __forceinline__ bool all_finite(const float (&sums)[Blocks][Count]) {
    float zeros[4] = {};
#pragma unroll
    for (int i = 0; i < Blocks * Count; ++i) zeros[i % 4] += sums[i / Count][i % Count] * 0.0f;
    return zeros[0] + zeros[1] + zeros[2] + zeros[3] == 0.0f;
}
