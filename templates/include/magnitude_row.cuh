// magnitude_row.cuh: computes the p-norm of a row, or the row divided by its norm; p is 1, 2, or 0 for the maximum
// norm. If `mean` is set, the sum of magnitudes or squares is divided by the row's length.
#pragma once
#include "extremes.cuh"

struct Weights {
    long long p, mean;
    double eps;  // lower limit of the divisor
};

template <class Real, bool Maps>
struct Magnitude {
    static constexpr bool kMaps = Maps;
    Real sum, squares, largest;  // the compiler removes unused ones

    __device__ __forceinline__ void start() { sum = squares = largest = 0; }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long, int, int = 1) {
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
        largest = larger_or_nan(largest, other.largest);
    }
#ifdef P
    template <class Team>
    __device__ __forceinline__ void meet(const Team& team) {
        *this = {P == 1 ? team.sum(sum) : Real(0), P == 2 ? team.sum(squares) : Real(0), P == 0 ? team.most(largest) : Real(0)};
    }
#endif
    // finish stores the norm's reciprocal in `sum`, because multiplying is much cheaper than dividing. If the
    // reciprocal of a norm would overflow or be inexact, elements are first multiplied by a power of two (`squares`).
    __device__ __forceinline__ void finish(const Seen& seen, const Weights& weights) {
        const Real over = weights.mean ? seen.length : 1;
        sum = weights.p == 1 ? sum / over : weights.p == 2 ? sqrt(squares / over) : largest;
        if (!Maps) return;
        if (sum < Real(weights.eps)) sum = Real(weights.eps);
        squares = sum < Real(1e-30f) ? 18446744073709551616.0f : sum > Real(1e30f) ? 1 / 18446744073709551616.0f : 1.0f;
        sum = 1 / (sum * squares);
    }
    __device__ __forceinline__ Real give(float x, long long, const Weights&) const { return Maps ? x * squares * sum : sum; }
};
