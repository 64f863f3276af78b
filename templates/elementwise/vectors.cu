// elementwise, vectors: a thread takes UNROLL vectors of the flat tensor, a block's width apart.
//
//   global -> registers  all vectors of x, and what lies beside them of w and b, before the first is used
//   registers -> global  an output's vector as soon as it is computed
//
// Tunables
//   threads    per block
//   vec        elements a load, 16 bytes at most: fewer loads on the way to memory
//   unroll     loads a thread has under way, against registers
//   streaming  stores leave the caches to others
#include "activations.cuh"
#include "element.cuh"

#if WIDE
typedef unsigned long long Index;
#else
typedef unsigned Index;
#endif

// load_beside gives the numbers of w or b for VEC outputs from `at` on, where `count` of them exist.
__device__ __forceinline__ void load_beside(float (&to)[VEC], const Element* from, Index at, int count) {
    if (LENGTH == 1 || (INNER > 1 && INNER % VEC == 0)) {  // one for all
        const float one = read_only(from + at / INNER % LENGTH);
#pragma unroll
        for (int k = 0; k < VEC; ++k) to[k] = one;
    } else if (INNER == 1 && LENGTH % VEC == 0) {
        load_elements<VEC>(to, from + at % LENGTH);
    } else {
#pragma unroll
        for (int k = 0; k < VEC; ++k) to[k] = k < count ? read_only(from + (at + k) / INNER % LENGTH) : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
elementwise_vectors(const Element* __restrict__ x, const Element* __restrict__ w, const Element* __restrict__ b, Element* __restrict__ y) {
    const long long elements = (long long)OUTER * LENGTH * INNER;
    const long long first = ((long long)blockIdx.x * (THREADS * UNROLL) + threadIdx.x) * VEC;
    float v[UNROLL][VEC] = {}, vw[UNROLL][VEC] = {}, vb[UNROLL][VEC] = {};
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long at = first + u * (THREADS * VEC);
        const int count = (int)max(0LL, min((long long)VEC, elements - at));
        if (count == VEC) {
            load_elements<VEC>(v[u], x + at);
        } else {  // the last ones
#pragma unroll
            for (int k = 0; k < VEC; ++k)
                if (k < count) v[u][k] = to_float(x[at + k]);
        }
        if (F_W && count > 0) load_beside(vw[u], w, at, count);
        if (F_B && count > 0) load_beside(vb[u], b, at, count);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long at = first + u * (THREADS * VEC);
#pragma unroll
        for (int k = 0; k < VEC; ++k) v[u][k] = Chain::of(v[u][k], vw[u][k], vb[u][k]);
        if (at + VEC <= elements) {
            store_elements<VEC, STREAMING>(y + at, v[u]);
        } else {
#pragma unroll
            for (int k = 0; k < VEC; ++k)
                if (at + k < elements) y[at + k] = from_float<Element>(v[u][k]);
        }
    }
}
