// magnitude_row.cuh: the p-norm of a row, and elements divided by it. The norm is computed from the sum of magnitudes
// (p = 1) or of squares (p = 2), or is the largest magnitude (p = 0). If `mean` is set, the sum of magnitudes or
// squares is first divided by the number of elements.
#pragma once
#include "extremes.cuh"

struct Weights {
    long long p, mean;
    double eps;  // lower limit of the divisor
};

template <class Real, bool Maps>
struct Magnitude {
    static constexpr bool kMaps = Maps;
    Real sum, squares, largest;  // the compiler knows which of them is used

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
    // finish stores the reciprocal of the norm in `sum`, since a multiplication takes a tenth of the instructions of a
    // division. The reciprocal of a tiny norm would be infinite, and that of a huge norm inexact. For tiny and huge
    // norms, elements are first multiplied by 2^64 or 2^-64, which is stored in `squares`.
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
