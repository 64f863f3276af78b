// row_plain.cuh: computes reductions and normalisations of rows in double, for the reference kernel and for kernels
// that accept any sizes.
#pragma once
#include "row_state.cuh"

// place returns the memory index of element j of a row.
template <class Sizes>
__device__ __forceinline__ long long place(const Sizes& s, long long row, long long j) {
    const long long chunk = CHUNK_OF(s);
    return chunk < s.length ? (j / chunk * s.outer + row) * chunk + j % chunk : (row / s.inner * s.length + j) * s.inner + row % s.inner;
}

#ifdef LENGTH
struct Compiled {
    long long outer = OUTER, length = LENGTH, inner = INNER, chunk = CHUNK;
};

constexpr long long kRowsInAll = OUTER * (long long)INNER;
// If there are few long rows, many blocks share each row, since a single block would take seconds.
constexpr bool kApart = Row<double>::kMaps && kRowsInAll <= 64 && LENGTH >= 1 << 20;
constexpr int kParts = kApart ? 256 : 1;
union PlainState {
    Row<double> row;
    unsigned words[sizeof(Row<double>) / 4];
};
// plain_states holds the partial result of each part of a row, aligned so that rows share no cache line. plain_read
// counts the finished parts of each row.
__device__ __align__(128) unsigned plain_states[kApart ? kRowsInAll * kParts * sizeof(Row<double>) / 4 : 1];
__device__ int plain_read[kApart ? kRowsInAll : 1], plain_drawn, plain_done;

// plain_merged merges the partial results of a block's threads and returns the result to all threads.
__device__ __forceinline__ Row<double> plain_merged(Row<double> row) {
    __shared__ __align__(16) unsigned char storage[256 * sizeof(Row<double>)];
    Row<double>* const states = reinterpret_cast<Row<double>*>(storage);
    states[threadIdx.x] = row;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < 256; ++t) row.merge(states[t]);
        states[0] = row;
    }
    __syncthreads();
    row = states[0];
    __syncthreads();
    return row;
}

__device__ __forceinline__ Row<double> plain_state(const Element* x, long long i, int part) {
    Row<double> row;
    row.start();
#pragma unroll 8
    for (long long j = part * blockDim.x + threadIdx.x; j < LENGTH; j += kParts * blockDim.x) {
        const float one[1] = {to_float(x[place(Compiled(), i, j)])};
        row.join(one, j, 1);
    }
    return plain_merged(row);
}

// plain_put calls put(at, answer) for each output of a part of a row; if the row has one output, only the row's first
// thread calls it.
template <class Put>
__device__ __forceinline__ void plain_put(Row<double> row, const Element* x, long long i, int part, Weights weights, Put put) {
    const long long first = part * blockDim.x + threadIdx.x, answers = Row<double>::kMaps ? LENGTH : 1;
    row.finish({LENGTH, i, first == 0}, weights);
#pragma unroll 8
    for (long long j = first; j < answers; j += kParts * blockDim.x) {
        const long long at = place(Compiled(), i, j);
        put(Row<double>::kMaps ? at : i, row.give(to_float(x[at]), j, weights));
    }
}

// plain_all waits until all parts of row i are done, and returns the merged result of the row.
__device__ __forceinline__ Row<double> plain_all(long long i) {
    if (threadIdx.x == 0) {
        while (*static_cast<volatile int*>(plain_read + i) < kParts) continue;
        __threadfence();
    }
    __syncthreads();
    PlainState one;
    const unsigned* const from = plain_states + (i * kParts + threadIdx.x) * (sizeof(one) / 4);
    for (int w = 0; w < static_cast<int>(sizeof(one) / 4); ++w) one.words[w] = __ldcg(from + w);
    return plain_merged(one.row);
}

// plain_rows_apart assigns parts of rows to blocks by an atomic counter, so that a block only waits for blocks that
// are already running.
template <class Put>
__device__ __forceinline__ void plain_rows_apart(const Element* x, const Weights& weights, Put put) {
    __shared__ int next, mine[kParts];
    constexpr int kAll = kRowsInAll * kParts;
    if (blockIdx.x >= kAll) return;
    if (threadIdx.x == 0) next = atomicAdd(&plain_drawn, 1);
    __syncthreads();
    for (int drawn = next; drawn < kAll;) {
        const int i = drawn / kParts;
        int count = 0;
        do {
            const PlainState state = {plain_state(x, i, drawn % kParts)};
            if (threadIdx.x == 0) {
                for (int w = 0; w < static_cast<int>(sizeof(state) / 4); ++w) plain_states[drawn * (sizeof(state) / 4) + w] = state.words[w];
                __threadfence();
                atomicAdd(plain_read + i, 1);
                mine[count] = drawn % kParts, next = atomicAdd(&plain_drawn, 1);
            }
            __syncthreads();
            ++count, drawn = next;
        } while (drawn < kAll && drawn / kParts == i);
        const Row<double> row = plain_all(i);
        while (count-- > 0) plain_put(row, x, i, mine[count], weights, put);
    }
    // The last block to finish resets the counters to zero.
    if (threadIdx.x == 0 && atomicAdd(&plain_done, 1) == min(static_cast<int>(gridDim.x), kAll) - 1) {
        for (int i = 0; i < kRowsInAll; ++i) plain_read[i] = 0;
        plain_drawn = plain_done = 0;
    }
}

template <class Put>
__device__ __forceinline__ void plain_rows(const Element* x, const Weights& weights, Put put) {
    if constexpr (kApart)
        plain_rows_apart(x, weights, put);
    else
        for (long long i = blockIdx.x; i < kRowsInAll; i += gridDim.x) plain_put(plain_state(x, i, 0), x, i, 0, weights, put);
}

template <class AnyEpilogue = NoEpilogue>
__device__ __forceinline__ void plain_rows(const Element* x, Answer* y, const Weights& weights, const AnyEpilogue& epilogue = {}) {
    plain_rows(x, weights, [&](long long at, auto answer) {
        y[at] = answered_as<Answer>(epilogue, answer, place_in<Row<double>::kMaps>(ANSWER_AXES, at));
    });
}
#endif

template <class Sizes>
__device__ auto plain_given(const Element* x, const Sizes& s, long long i, Weights weights) {
    const long long chunk = CHUNK_OF(s), turn = chunk < s.length ? i / chunk / s.outer * chunk + i % chunk : i / s.inner % s.length;
    const long long row = !Row<double>::kMaps ? i : chunk < s.length ? i / chunk % s.outer : i / s.inner / s.length * s.inner + i % s.inner;
    const long long answered = Row<double>::kMaps ? turn : 0;
    Row<double> state;
    state.start();
    for (long long j = 0; j < s.length; ++j) state.join({to_float(x[place(s, row, j)])}, j, 1);
    state.finish({s.length, row, answered == 0}, weights);
    return state.give(to_float(x[place(s, row, answered)]), answered, weights);
}

template <class Sizes, class AnyEpilogue = NoEpilogue>
__device__ Answer plain_answer(const Element* x, const Sizes& s, long long i, const Weights& weights, const AnyEpilogue& epilogue = {}) {
    return answered_as<Answer>(epilogue, plain_given(x, s, i, weights), place_in<Row<double>::kMaps>(AXES_OF(s), i));
}
