// elementwise, vectors: each thread computes UNROLL vectors, which are a block's width apart.
//
// Tunables:
//   threads:   threads per block
//   vec:       elements per load, 16 bytes at most
//   unroll:    vectors that a thread loads at once
//   streaming: whether stores are streaming, which leaves the caches to other data
#include "chain_tile.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
elementwise_vectors(const Element* __restrict__ x, const Element* __restrict__ w, const Element* __restrict__ b, Element* __restrict__ y) {
    const long long elements = (long long)OUTER * LENGTH * INNER;
    const long long first = (long long)blockIdx.x * kTile + threadIdx.x * VEC;
    float v[UNROLL][VEC];
    chain_tile(v, x, w, b, first);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long at = first + u * (THREADS * VEC);
        if (is_whole(at, elements)) {
            store_elements<VEC, STREAMING>(y + at, v[u]);
        } else if (elements % VEC != 0) {
#pragma unroll
            for (int k = 0; k < VEC; ++k)
                if (at + k < elements) y[at + k] = from_float<Element>(v[u][k]);
        }
    }
}
