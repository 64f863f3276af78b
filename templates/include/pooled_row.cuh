// pooled_row.cuh: a Row (row_state.cuh) for a pool whose window is a whole image.
#pragma once
#include "pool.cuh"
#include "weightless_row.cuh"
#define ANSWER_AXES LENGTH, C  // outputs: images by channels

template <class Real>
struct Row {
    static constexpr bool kMaps = false;
    Real all;

    __device__ __forceinline__ void start() { all = Pool::nothing(); }
    template <int Count>
    __device__ __forceinline__ void join(const float (&v)[Count], long long, int, int = 1) {
        Real some = v[0];
#pragma unroll
        for (int e = 1; e < Count; ++e) some = Pool::join(some, v[e]);
        all = Pool::join(all, some);
    }
    __device__ __forceinline__ void merge(const Row& other) { all = Pool::join(all, other.all); }
    __device__ __forceinline__ void finish(const Seen&, const Weights&) { all = Pool::finish(all, 0, 0, 0); }
    __device__ __forceinline__ Real give(float, long long, const Weights&) const { return all; }
};
