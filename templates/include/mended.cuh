// mended.cuh: computes outputs of a GEMM again, by the operator's definition, if they are infinite or NaN.
//
// A GEMM may multiply an infinite input by a zero weight that only fills up the matrix, and zero times infinity is NaN.
// A GEMM whose weights are filled up with zeros (kMasked) therefore computes outputs again that are not finite.
#pragma once
#include "element.cuh"
#include "finite.cuh"

// Mended acts as an output pointer: assigning to an output computes it again if the stored value is not finite.
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

// all_finite tells whether all sums are finite: x * 0 is zero only for a finite x.
template <int Blocks, int Count>
__device__ __forceinline__ bool all_finite(const float (&sums)[Blocks][Count]) {
    float zeros[4] = {};
#pragma unroll
    for (int i = 0; i < Blocks * Count; ++i) zeros[i % 4] += sums[i / Count][i % Count] * 0.0f;
    return zeros[0] + zeros[1] + zeros[2] + zeros[3] == 0.0f;
}
