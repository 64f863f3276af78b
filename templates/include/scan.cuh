// scan.cuh: running sums or products along rows or columns. A block scans a row tile by tile: each thread combines
// VEC neighbouring elements, then warps combine these results by shuffles, and the block through shared memory. The
// result of earlier tiles is kept in double, since a float would be rounded once per tile. A column is scanned by one
// thread.
//
// Tunables:
//   threads: threads per block, and per row
//   vec:     neighbouring elements per thread
//   unroll:  elements of a column that are in flight
#pragma once
#include "scan_join.cuh"
#include "scan_source.cuh"

constexpr bool kColumns = INNER > 1;
constexpr int kUnroll = UNROLL;  // nvcc does not expand macros in pragmas

// element returns the index of the element that is the j-th in scan order.
__device__ __forceinline__ long long element(long long j) { return REVERSE ? LENGTH - 1 - j : j; }

// turn_of returns the index of the j-th thread in scan order, which is descending if the scan is reversed.
__device__ __forceinline__ int turn_of(int j, int threads) { return REVERSE ? threads - 1 - j : j; }
__device__ __forceinline__ float from_before(float x, int apart) {
    return REVERSE ? __shfl_down_sync(0xffffffffu, x, apart) : __shfl_up_sync(0xffffffffu, x, apart);
}

// before_in_tile returns the combined elements of all earlier threads in a tile, and sets `all` to those of the whole
// tile.
__device__ __forceinline__ float before_in_tile(float own, float* warps, float& all) {
    const int lane = turn_of(threadIdx.x % 32, 32), warp = turn_of(threadIdx.x / 32, THREADS / 32);
    float sum = own;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
        const float other = from_before(sum, apart);
        if (lane >= apart) sum = both(other, sum);
    }
    const float last = from_before(sum, 1);
    __syncthreads();  // all threads have read the sums of the tile before
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    float before = none();
    all = none();
#pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) {
        if (w == warp) before = all;
        all = both(all, warps[w]);
    }
    return lane > 0 ? both(before, last) : before;
}

// If rows begin aligned, they consist of whole vectors; a reversed scan reverses the elements of each vector.
constexpr bool kAligned = LENGTH % VEC == 0;

template <class Source>
__device__ __forceinline__ void load(float (&v)[VEC], const Source& x, long long row, long long from) {
    float w[VEC];
    if (kAligned && from < LENGTH) x.load(w, row + (REVERSE ? LENGTH - VEC - from : from));
#pragma unroll
    for (int e = 0; e < VEC; ++e)
        v[e] = from + e >= LENGTH ? none() : kAligned ? w[REVERSE ? VEC - 1 - e : e] : x.one(row + element(from + e));
}

__device__ __forceinline__ void store(Element* y, const float (&v)[VEC], long long from) {
    float w[VEC];
#pragma unroll
    for (int e = 0; e < VEC; ++e) w[REVERSE ? VEC - 1 - e : e] = v[e];
    if (kAligned && from < LENGTH) store_elements<VEC>(y + (REVERSE ? LENGTH - VEC - from : from), w);
#pragma unroll
    for (int e = 0; !kAligned && e < VEC; ++e)
        if (from + e < LENGTH) y[element(from + e)] = from_float<Element>(v[e]);
}

template <class Source>
__device__ __forceinline__ void scan_row(const Source& x, Element* y, long long row) {
    __shared__ float warps[THREADS / 32];
    const int first = turn_of(threadIdx.x, THREADS) * VEC;
    double carry = none();
    float v[VEC], all;
    load(v, x, row, first);
#pragma unroll 1
    for (long long from = first; from - first < LENGTH; from += THREADS * VEC) {
        float next[VEC], own = v[0];
        load(next, x, row, from + THREADS * VEC);
#pragma unroll
        for (int e = 1; e < VEC; ++e) own = both(own, v[e]);
        float sum = both(static_cast<float>(carry), before_in_tile(own, warps, all));
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
            const float until = both(sum, v[e]);
            v[e] = EXCLUSIVE ? sum : until;
            sum = until;
        }
        store(y + row, v, from);
        carry = both(carry, static_cast<double>(all));
#pragma unroll
        for (int e = 0; e < VEC; ++e) v[e] = next[e];
    }
}

template <class Source>
__device__ __forceinline__ void scan_column(const Source& x, Element* y, long long first) {
    float sum = none();
#pragma unroll kUnroll
    for (long long j = 0; j < LENGTH; ++j) {
        const long long at = first + element(j) * INNER;
        const float until = both(sum, x.one(at));
        y[at] = from_float<Element>(EXCLUSIVE ? sum : until);
        sum = until;
    }
}

template <class Source>
__device__ __forceinline__ void scan_all(const Source& x, Element* y) {
    if (!kColumns) {
        scan_row(x, y, blockIdx.x * static_cast<long long>(LENGTH));
    } else {
        const long long i = blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x;
        if (i < OUTER * static_cast<long long>(INNER)) scan_column(x, y, i / INNER * LENGTH * INNER + i % INNER);
    }
}
