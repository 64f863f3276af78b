// chain_tile.cuh: what a thread computes of a tile of the flat tensor: UNROLL vectors, a block's width
// apart. All vectors of x, and what lies beside them of w and b, are under way before the first is used.
#pragma once
#include "chain.cuh"
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

constexpr int kTile = THREADS * UNROLL * VEC;  // elements of a block's tile

// is_whole tells whether a thread's vector at `at` exists. Where tiles fit evenly that is known here,
// and a load waits for no comparison.
__device__ __forceinline__ bool is_whole(long long at, long long elements) {
    return elements % kTile == 0 || at + VEC <= elements;
}

// chain_tile gives the outputs from `first` on; what lies behind the last element is anything.
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
        } else {  // the last ones
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
