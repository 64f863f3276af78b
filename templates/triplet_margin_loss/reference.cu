// triplet_margin_loss, reference: a block takes one row after the other, with distances in double.
#include "row_state.cuh"

extern "C" __global__ void triplet_margin_loss_reference(const Element* __restrict__ anchor, const Element* __restrict__ positive,
                                                         const Element* __restrict__ negative, Element* __restrict__ y) {
    __shared__ __align__(16) unsigned char storage[256 * sizeof(Row<double>)];
    Row<double>* const states = reinterpret_cast<Row<double>*>(storage);
    const Weights weights = WEIGHTS;
    double sum = 0;
    for (long long i = blockIdx.x; i < OUTER; i += gridDim.x) {
        Row<double> row;
        row.start();
        for (long long j = threadIdx.x; j < LENGTH; j += 256) {
            const long long at = i * LENGTH + j;
            row.join({to_float(anchor[at])}, {to_float(positive[at])}, {to_float(negative[at])}, weights);
        }
        states[threadIdx.x] = row;
        __syncthreads();
        for (int t = 1; threadIdx.x == 0 && t < 256; ++t) row.merge(states[t]);
        row.finish({LENGTH, i, true}, weights);
        sum += row.loss;
        if (!REDUCED && threadIdx.x == 0) y[i] = from_float<Element>((float)row.loss);
        __syncthreads();
    }
    if (REDUCED && threadIdx.x == 0) y[0] = from_float<Element>((float)(MEAN ? sum / OUTER : sum));
}
