// elementwise, reduced: computes the sum or mean of an elementwise operator's outputs. Each block stores a partial
// sum; a second launch adds up the partial sums in double. The order of additions is fixed, so the result is
// reproducible.
//
// Tunables:
//   threads, vec, unroll: as in vectors.cu
//   per_sm:               blocks per multiprocessor
#include "block_sum.cuh"
#include "chain_tile.cuh"
#include "dependent_launch.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
elementwise_reduced_parts(const Element* __restrict__ x, const Element* __restrict__ w, const Element* __restrict__ b, float* __restrict__ parts) {
    const long long elements = (long long)OUTER * LENGTH * INNER;
    float sum = 0.0f;
    for (long long tile = blockIdx.x; tile * kTile < elements; tile += gridDim.x) {
        const long long first = tile * kTile + threadIdx.x * VEC;
        float v[UNROLL][VEC], some = 0.0f;
        chain_tile(v, x, w, b, first);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const long long at = first + u * (THREADS * VEC);
#pragma unroll
            for (int k = 0; k < VEC; ++k)
                if (is_whole(at, elements) || at + k < elements) some += v[u][k];
        }
        sum += some;
    }
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
    begin_dependents();
}

extern "C" __global__ void __launch_bounds__(256) elementwise_reduced_whole(const float* parts, Element* __restrict__ y) {
    wait_for_launches();
    double sum = 0;
    for (int i = threadIdx.x; i < BLOCKS; i += 256) sum += parts[i];
    sum = block_sum<256>(sum);
    if (threadIdx.x == 0) y[0] = from_float<Element>((float)(sum / OVER));
}
