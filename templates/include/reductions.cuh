// reductions.cuh: the reductions of a row's elements (row_state.cuh): sums, products, extremes.
// A NaN among them is the result, as in PyTorch.
#pragma once
#include "limits.cuh"
#include "weightless_row.cuh"

// Reduction joins by the join of two numbers.
template <class Real, class Join>
struct Reduction {
    static constexpr bool kMaps = false;
    Real all;

    __device__ __forceinline__ void start() { all = Join::none(); }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long, int) {
        Real some = Join::taken(Real(v[0]));
#pragma unroll
        for (int e = 1; e < N; ++e) some = Join::both(some, Join::taken(Real(v[e])));
        all = Join::both(all, some);
    }
    __device__ __forceinline__ void merge(const Reduction& other) { all = Join::both(all, other.all); }
    __device__ __forceinline__ void finish(const Seen&, const Weights&) {}
    __device__ __forceinline__ Real give(float, long long, const Weights&) const { return all; }
};

struct Plus {
    template <class Real> __device__ __forceinline__ static Real taken(Real x) { return x; }
    template <class Real> __device__ __forceinline__ static Real both(Real a, Real b) { return a + b; }
    __device__ __forceinline__ static float none() { return 0.0f; }
};
struct Times : Plus {
    template <class Real> __device__ __forceinline__ static Real both(Real a, Real b) { return a * b; }
    __device__ __forceinline__ static float none() { return 1.0f; }
};
struct Larger : Plus {
    template <class Real> __device__ __forceinline__ static Real both(Real a, Real b) { return b > a || b != b ? b : a; }
    __device__ __forceinline__ static float none() { return negative_infinity(); }
};
struct Smaller : Plus {
    template <class Real> __device__ __forceinline__ static Real both(Real a, Real b) { return b < a || b != b ? b : a; }
    __device__ __forceinline__ static float none() { return positive_infinity(); }
};

template <class Real>
struct Mean : Reduction<Real, Plus> {
    __device__ __forceinline__ void finish(const Seen& seen, const Weights&) { this->all /= seen.length; }
};

// Position is where the largest element is, the first of several; negated, the smallest.
template <class Real, int Sign>
struct Position {
    static constexpr bool kMaps = false;
    Real most;
    int unused;
    long long at;

    __device__ __forceinline__ void start() { most = negative_infinity(), at = 0x7fffffffffffffffLL; }
    // NaN is larger than all numbers.
    __device__ __forceinline__ void meet(Real x, long long j) {
        const bool more = x > most || (x != x && most == most), same = x == most || (x != x && most != most);
        if (more || (same && j < at)) most = x, at = j;
    }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long j, int step) {
#pragma unroll
        for (int e = 0; e < N; ++e) meet(Sign * v[e], j + e * step);
    }
    __device__ __forceinline__ void merge(const Position& other) { meet(other.most, other.at); }
    __device__ __forceinline__ void finish(const Seen&, const Weights&) {}
    __device__ __forceinline__ long long give(float, long long, const Weights&) const { return at; }
};
