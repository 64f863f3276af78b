// pooled_row.cuh: a pool's window that is the whole image, as a row (row_state.cuh).
#pragma once
#include "pool.cuh"
#include "weightless_row.cuh"
#define ANSWER_AXES LENGTH, C  // answers of images, beside each other

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
