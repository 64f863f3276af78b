// norm_row.cuh: elements over the root of their mean square; `Centered` takes their mean first.
// Means and squares about them are merged as they are (Chan, Golub and LeVeque): sums of squares
// would cancel where the mean is large.
#pragma once
#include "element.cuh"

struct Weights {
    const Element *weight, *bias;  // null: there are none
    double eps;
};

template <class Real, bool Centered>
struct Norm {
    static constexpr bool kMaps = true;
    Real count, mean, squares;

    __device__ __forceinline__ void start() { count = mean = squares = 0; }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long, int) {
        Norm some = {N, 0, 0};
#pragma unroll
        for (int e = 0; Centered && e < N; ++e) some.mean += v[e] / Real(N);
#pragma unroll
        for (int e = 0; e < N; ++e) some.squares += (v[e] - some.mean) * (v[e] - some.mean);
        merge(some);
    }
    __device__ __forceinline__ void merge(const Norm& other) {
        squares += other.squares;
        if (!Centered || other.count == 0) return;
        const Real all = count + other.count, apart = other.mean - mean, part = other.count / all;
        squares += apart * apart * count * part;
        mean += apart * part;
        count = all;
    }
    __device__ __forceinline__ void finish(long long length, const Weights& weights) { squares = 1 / sqrt(squares / length + Real(weights.eps)); }
    __device__ __forceinline__ Real give(float x, long long j, const Weights& weights) const {
        const Real y = (x - mean) * squares;
        return (weights.weight ? y * to_float(weights.weight[j]) : y) + (weights.bias ? to_float(weights.bias[j]) : 0.0f);
    }
};
