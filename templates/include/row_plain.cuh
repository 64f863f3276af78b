// row_plain.cuh: operators of rows with states in double, for the reference: a block has a row after
// the other. The general kernel takes a row's elements in order.
#pragma once
#include "row_state.cuh"

#ifdef LENGTH
__device__ __forceinline__ void plain_rows(const Element* x, Answer* y, const Weights& weights) {
    __shared__ __align__(16) unsigned char storage[256 * sizeof(Row<double>)];
    Row<double>* const states = reinterpret_cast<Row<double>*>(storage);
    for (long long i = blockIdx.x; i < OUTER * (long long)INNER; i += gridDim.x) {
        const long long first = i / INNER * LENGTH * INNER + i % INNER;
        Row<double> row;
        row.start();
        for (long long j = threadIdx.x; j < LENGTH; j += blockDim.x) {
            const float one[1] = {to_float(x[first + j * INNER])};
            row.join(one, j, 1);
        }
        states[threadIdx.x] = row;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int t = 1; t < 256; ++t) row.merge(states[t]);
            row.finish(LENGTH, weights);
            states[0] = row;
        }
        __syncthreads();
        const long long answers = Row<double>::kMaps ? LENGTH : 1;
        for (long long j = threadIdx.x; j < answers; j += blockDim.x)
            y[Row<double>::kMaps ? first + j * INNER : i] = to_answer(states[0].give(to_float(x[first + j * INNER]), j, weights));
        __syncthreads();
    }
}
#endif

template <class Sizes>
__device__ Answer plain_answer(const Element* x, const Sizes& s, long long i, const Weights& weights) {
    const long long row = Row<double>::kMaps ? i / s.inner / s.length * s.inner + i % s.inner : i;
    x += row / s.inner * s.length * s.inner + row % s.inner;
    Row<double> state;
    state.start();
    for (long long j = 0; j < s.length; ++j) state.join({to_float(x[j * s.inner])}, j, 1);
    state.finish(s.length, weights);
    const long long j = Row<double>::kMaps ? i / s.inner % s.length : 0;
    return to_answer(state.give(to_float(x[j * s.inner]), j, weights));
}
