// row_columns.cuh: the frame of rows.cuh for elements INNER apart. A thread has VEC adjacent
// columns, and every DEEP-th element of them; a warp's loads lie side by side.
//
// The macros: ACROSS by DEEP threads a block, PARTS of a column, each a block's, VEC, UNROLL, KEEP.
#pragma once
#include "element.cuh"
#include "row_state.cuh"

enum Keep { registers, again };

constexpr long long kPart = (LENGTH + PARTS - 1LL) / PARTS;  // elements of a column that a block has
constexpr long long kWide = (INNER + ACROSS * VEC - 1LL) / (ACROSS * VEC);  // blocks side by side
constexpr int kItems = (kPart + DEEP - 1) / DEEP;
constexpr int kUnroll = KEEP == registers || UNROLL > kItems ? kItems : UNROLL;
constexpr int kOwn = KEEP == registers ? kItems : 1;

// Columns are a thread's.
struct Columns {
    int deep, part;
    long long column, outside;  // the first, and which of the OUTER
    long long first, end;       // element, and behind the last

    __device__ __forceinline__ explicit Columns(long long block) : deep(threadIdx.x / ACROSS), part(block / kWide % PARTS) {
        column = (block % kWide * ACROSS + threadIdx.x % ACROSS) * VEC;
        outside = block / kWide / PARTS;
        first = part * kPart + deep;
        end = part * kPart + kPart < LENGTH ? part * kPart + kPart : LENGTH;
    }
    __device__ __forceinline__ long long at(long long j) const { return (outside * LENGTH + j) * INNER + column; }
    // state is where the first column's state of a part lies.
    __device__ __forceinline__ long long state(int of_part) const { return (outside * PARTS + of_part) * INNER + column; }
};

// by_rows calls group(j, count) for a thread's elements from j on, kUnroll at once, then one by
// one; those of `registers` all at once.
template <int N> struct Count { static constexpr int value = N; };
template <class Group>
__device__ __forceinline__ void by_rows(const Columns& of, Group group) {
    long long j = of.first;
#pragma unroll 1
    for (; KEEP != registers && kUnroll > 1 && j + (kUnroll - 1) * DEEP < of.end; j += kUnroll * DEEP) group(j, Count<kUnroll>());
    if (KEEP == registers) group(j, Count<kItems>());
#pragma unroll 1
    for (; KEEP != registers && j < of.end; j += DEEP) group(j, Count<1>());
}

template <class Row>
__device__ __forceinline__ void take_columns(Row (&states)[VEC], const Columns& of, float (&own)[kOwn][VEC], const Element* x, bool there) {
#pragma unroll
    for (int c = 0; c < VEC; ++c) states[c].start();
    if (!there) return;
    by_rows(of, [&](long long j, auto count) {
        constexpr int kCount = count.value;
        float v[kCount][VEC];
#pragma unroll
        for (int u = 0; u < kCount; ++u)
            if (KEEP != registers || j + u * DEEP < of.end) load_elements<VEC>(v[u], x + of.at(j + u * DEEP));
#pragma unroll
        for (int c = 0; c < VEC; ++c) {
            float down[kCount];
#pragma unroll
            for (int u = 0; u < kCount; ++u) {
                down[u] = v[u][c];
                if (KEEP == registers) {
                    own[u][c] = v[u][c];
                    const float one[1] = {v[u][c]};
                    if (j + u * DEEP < of.end) states[c].join(one, j + u * DEEP, DEEP);
                }
            }
            if (KEEP != registers) states[c].join(down, j, DEEP);
        }
    });
}

// merge_columns merges the states of the threads that share columns, which all know them then.
template <class Row>
__device__ __forceinline__ void merge_columns(Row (&states)[VEC]) {
    if constexpr (DEEP > 1) {
        __shared__ __align__(16) unsigned char storage[ACROSS * DEEP * VEC * sizeof(Row)];
        Row* const all = reinterpret_cast<Row*>(storage);
#pragma unroll
        for (int c = 0; c < VEC; ++c) all[c * ACROSS * DEEP + threadIdx.x] = states[c];
        __syncthreads();
#pragma unroll
        for (int c = 0; c < VEC; ++c) {
            states[c] = all[c * ACROSS * DEEP + threadIdx.x % ACROSS];
            for (int d = 1; d < DEEP; ++d) states[c].merge(all[c * ACROSS * DEEP + d * ACROSS + threadIdx.x % ACROSS]);
        }
    }
}

template <class Row, class Weights>
__device__ __forceinline__ void give_columns(const Row (&states)[VEC], const Columns& of, const float (&own)[kOwn][VEC], const Element* x,
                                             Element* y, const Weights& weights) {
    by_rows(of, [&](long long j, auto count) {
        constexpr int kCount = count.value;
        float v[kCount][VEC];
#pragma unroll
        for (int u = 0; u < kCount; ++u) {
            const bool there = KEEP != registers || j + u * DEEP < of.end;
            if (KEEP != registers && there) load_elements<VEC>(v[u], x + of.at(j + u * DEEP));
#pragma unroll
            for (int c = 0; c < VEC; ++c) v[u][c] = states[c].give(KEEP == registers ? own[u][c] : v[u][c], j + u * DEEP, weights);
            if (there) store_elements<VEC>(y + of.at(j + u * DEEP), v[u]);
        }
    });
}

// give_totals answers a thread's columns, of which each has one answer.
template <class Row>
__device__ __forceinline__ void give_totals(const Row (&states)[VEC], const Columns& of, Answer* y) {
#pragma unroll
    for (int c = 0; c < VEC; ++c) y[of.outside * INNER + of.column + c] = to_answer(states[c].give(0.0f, 0, NoWeights()));
}
