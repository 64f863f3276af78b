// guarded_span.cuh: loads the input columns of a thread's VEC neighbouring windows without branches (guarded_load.cuh).
//
// A thread loads SPAN columns of a row, LOAD elements per access; its first window begins at column LEAD of them.
#pragma once
#include "guarded_load.cuh"
#include "window.cuh"

// columns_are_used tells whether any window reads one of the LOAD columns from column j on.
__host__ __device__ constexpr bool columns_are_used(int j) {
    for (int v = 0; v < VEC; ++v)
        for (int k = 0; k < KERNEL_W; ++k) {
            const int column = LEAD + v * STRIDE_W + k * DILATION_W;
            if (column >= j && column < j + LOAD) return true;
        }
    return false;
}

// load_guarded_span loads SPAN columns of an input row, where from[offset] is column `left`. Columns outside of the row
// get the value `outside`; if `there` is false, all columns do. Cached selects loads from global instead of shared
// memory.
template <bool Cached, class T>
__device__ __forceinline__ void load_guarded_span(float (&span)[SPAN], const T* from, int offset, int left, bool there,
                                                  float outside) {
#pragma unroll
    for (int j = 0; j < SPAN; j += LOAD) {
        if (!columns_are_used(j)) continue;
        const bool inside = there && (unsigned)(left + j) < (unsigned)W;
#pragma unroll
        for (int e = 0; e < LOAD; ++e) span[j + e] = outside;
        if constexpr (Cached)
            load_cached<LOAD>(span + j, from, offset + j, inside);
        else
            load_staged<LOAD>(span + j, from, offset + j, inside);
    }
}
