// chain_tile.cuh: computes a thread's UNROLL vectors, which are a block's width apart. The thread issues all loads
// before it uses the first.
#pragma once
#include "chain.cuh"
#include "element.cuh"

#if WIDE
typedef unsigned long long Index;
#else
typedef unsigned Index;
#endif

// load_beside loads the elements of w or b for the VEC outputs from `at` on, of which `count` exist.
__device__ __forceinline__ void load_beside(float (&to)[VEC], const Element* from, Index at, int count) {
    if (LENGTH == 1 || (INNER > 1 && INNER % VEC == 0)) {  // one element for all outputs
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

constexpr int kTile = THREADS * UNROLL * VEC;  // elements of a block's tile

// is_whole tells whether all elements of the vector at index `at` exist, which may be known at compile time.
__device__ __forceinline__ bool is_whole(long long at, long long elements) {
    return elements % kTile == 0 || at + VEC <= elements;
}

// chain_tile computes a thread's outputs from `first` on; outputs beyond the tensor's end are undefined.
__device__ __forceinline__ void chain_tile(float (&v)[UNROLL][VEC], const Element* x, const Element* w, const Element* b, long long first) {
    const long long elements = (long long)OUTER * LENGTH * INNER;
    float vw[UNROLL][VEC] = {}, vb[UNROLL][VEC] = {};
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long at = first + u * (THREADS * VEC);
        if (is_whole(at, elements)) {
            load_elements<VEC>(v[u], x + at);
            if (F_W) load_beside(vw[u], w, at, VEC);
            if (F_B) load_beside(vb[u], b, at, VEC);
        } else {  // a partial vector at the end
            const int count = elements % VEC == 0 ? 0 : (int)max(0LL, elements - at);
#pragma unroll
            for (int k = 0; k < VEC; ++k) v[u][k] = k < count ? to_float(x[at + k]) : 0.0f;
            if (F_W && count > 0) load_beside(vw[u], w, at, count);
            if (F_B && count > 0) load_beside(vb[u], b, at, count);
        }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int k = 0; k < VEC; ++k) v[u][k] = Chain::of(v[u][k], vw[u][k], vb[u][k]);
}
