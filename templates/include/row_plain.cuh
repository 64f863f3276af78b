// row_plain.cuh: operators of rows with states in double, for the reference: a block has a row after
// the other. The general kernel takes a row's elements in order.
#pragma once
#include "row_state.cuh"

// place is where element j of a row lies.
template <class Sizes>
__device__ __forceinline__ long long place(const Sizes& s, long long row, long long j) {
    const long long chunk = CHUNK_OF(s);
    return chunk < s.length ? (j / chunk * s.outer + row) * chunk + j % chunk : (row / s.inner * s.length + j) * s.inner + row % s.inner;
}

#ifdef LENGTH
struct Compiled {
    long long outer = OUTER, length = LENGTH, inner = INNER, chunk = CHUNK;
};

// put(at, answer) takes the answers of elements, or from a row's first thread the row's.
template <class Put>
__device__ __forceinline__ void plain_rows(const Element* x, const Weights& all, Put put) {
    __shared__ __align__(16) unsigned char storage[256 * sizeof(Row<double>)];
    Row<double>* const states = reinterpret_cast<Row<double>*>(storage);
    for (long long i = blockIdx.x; i < OUTER * (long long)INNER; i += gridDim.x) {
        Weights weights = all;
        Row<double> row;
        row.start();
        for (long long j = threadIdx.x; j < LENGTH; j += blockDim.x) {
            const float one[1] = {to_float(x[place(Compiled(), i, j)])};
            row.join(one, j, 1);
        }
        states[threadIdx.x] = row;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int t = 1; t < 256; ++t) row.merge(states[t]);
            states[0] = row;
        }
        __syncthreads();
        row = states[0];
        row.finish({LENGTH, i, threadIdx.x == 0}, weights);
        const long long answers = Row<double>::kMaps ? LENGTH : 1;
        for (long long j = threadIdx.x; j < answers; j += blockDim.x) {
            const long long at = place(Compiled(), i, j);
            put(Row<double>::kMaps ? at : i, row.give(to_float(x[at]), j, weights));
        }
        __syncthreads();
    }
}

__device__ __forceinline__ void plain_rows(const Element* x, Answer* y, const Weights& weights) {
    plain_rows(x, weights, [y](long long at, auto answer) { y[at] = to_answer<Answer>(answer); });
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

template <class Sizes>
__device__ Answer plain_answer(const Element* x, const Sizes& s, long long i, const Weights& weights) {
    return to_answer<Answer>(plain_given(x, s, i, weights));
}
