// reductions.cuh: Row classes (row_state.cuh) that reduce a row's elements to a sum, a product or an extreme. If an
// element is NaN, the result is NaN, as in PyTorch.
#pragma once
#include "extremes.cuh"
#include "limits.cuh"
#include "weightless_row.cuh"

// Reduction is a Row that combines all elements by Join, a function of two numbers such as their sum.
template <class Real, class Join>
struct Reduction {
    static constexpr bool kMaps = false;
    Real all;

    __device__ __forceinline__ void start() { all = Join::none(); }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long, int, int = 1) {
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
    template <class Real> __device__ __forceinline__ static Real both(Real a, Real b) { return larger_or_nan(a, b); }
    __device__ __forceinline__ static float none() { return negative_infinity(); }
};
struct Smaller : Plus {
    template <class Real> __device__ __forceinline__ static Real both(Real a, Real b) { return -larger_or_nan(-a, -b); }
    __device__ __forceinline__ static float none() { return positive_infinity(); }
};

template <class Real>
struct Mean : Reduction<Real, Plus> {
    __device__ __forceinline__ void finish(const Seen& seen, const Weights&) { this->all /= seen.length; }
};

// Position is a Row that finds the index of the first largest element (with Sign = -1, the first smallest). NaN
// counts as larger than all numbers.
template <class Real, int Sign>
struct Position {
    static constexpr bool kMaps = false;
    Real most;
    int unused;
    long long at;

    // start sets index 0, which is the output if all elements are minus infinity.
    __device__ __forceinline__ void start() { most = negative_infinity(), at = 0; }
    // A thread's elements come in order, so a later element wins only if it is larger.
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long j, int step, int side = 1) {
        float here = directed(v[0]);
        int which = 0;
#pragma unroll
        for (int e = 1; e < N; ++e) {
            const float x = directed(v[e]);
            which = x > here ? e : which;
            here = larger_or_nan(here, x);
        }
#pragma unroll
        for (int e = N - 1; here != here && e >= 0; --e) which = v[e] != v[e] ? e : which;
        if (more(here, most)) most = here, at = j + static_cast<long long>(which / side) * step + which % side;
    }
    __device__ __forceinline__ void merge(const Position& other) {
        const bool same = !more(most, other.most) && other.at < at;
        if (more(other.most, most) || same) most = other.most, at = other.at;
    }
    __device__ __forceinline__ void finish(const Seen&, const Weights&) {}
    __device__ __forceinline__ long long give(float, long long, const Weights&) const { return at; }

private:
    __device__ __forceinline__ static float directed(float x) { return Sign > 0 ? x : -x; }
    __device__ __forceinline__ static bool more(Real a, Real b) { return a > b || (a != a && b == b); }
};
