// magnitude_row.cuh: the p-norm of a row, and elements divided by it: from sums of magnitudes (p = 1) or of
// squares (p = 2), or the largest magnitude (p = 0). With `mean` the sum is divided by the number of elements.
#pragma once
#include "limits.cuh"

struct Weights {
    long long p, mean;
    double eps;  // the least that elements are divided by
};

template <class Real, bool Maps>
struct Magnitude {
    static constexpr bool kMaps = Maps;
    Real sum, squares, largest;  // which of them is used is known when a kernel is compiled

    __device__ __forceinline__ void start() { sum = squares = largest = 0; }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long, int) {
        Magnitude some;
        some.start();
#pragma unroll
        for (int e = 0; e < N; ++e) {
            const Real x = fabsf(v[e]);
            some.merge({x, x * x, x});
        }
        merge(some);
    }
    __device__ __forceinline__ void merge(const Magnitude& other) {
        sum += other.sum;
        squares += other.squares;
        if (other.largest > largest || other.largest != other.largest) largest = other.largest;
    }
    __device__ __forceinline__ void finish(const Seen& seen, const Weights& weights) {
        const Real over = weights.mean ? seen.length : 1;
        const Real norm = weights.p == 1 ? sum / over : weights.p == 2 ? sqrt(squares / over) : largest;
        sum = Maps && norm < Real(weights.eps) ? Real(weights.eps) : norm;
    }
    __device__ __forceinline__ Real give(float x, long long, const Weights&) const { return Maps ? x / sum : sum; }
};
