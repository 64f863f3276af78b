// The reference of operators of rows: a block has a row after the other, with states in double.
#include "element.cuh"
#include "row_state.cuh"

extern "C" __global__ void row_reference(const Element* __restrict__ x, Answer* __restrict__ y) {
    __shared__ __align__(16) unsigned char storage[256 * sizeof(Row<double>)];
    Row<double>* const states = reinterpret_cast<Row<double>*>(storage);
    for (long long i = blockIdx.x; i < (long long)OUTER * INNER; i += gridDim.x) {
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
            row.finish(LENGTH);
            states[0] = row;
        }
        __syncthreads();
        const long long answers = Row<double>::kMaps ? LENGTH : 1;
        for (long long j = threadIdx.x; j < answers; j += blockDim.x)
            y[Row<double>::kMaps ? first + j * INNER : i] = to_answer(states[0].give(to_float(x[first + j * INNER]), j, NoWeights()));
        __syncthreads();
    }
}
