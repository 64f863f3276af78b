// guarded_span.cuh: loads the input columns that a thread's VEC neighbouring windows read, without branches
// (guarded_load.cuh), for the kernels of volume.cuh.
//
// Macros used besides those of window.cuh are VEC, the number of windows; LOAD, the elements per load, to which a span
// is aligned; LEAD, the columns of a span before the first window; and SPAN, the columns of a span.
#pragma once
#include "guarded_load.cuh"
#include "window.cuh"

// columns_are_used tells whether any window reads one of the LOAD columns of a span from column j on.
__host__ __device__ constexpr bool columns_are_used(int j) {
    for (int v = 0; v < VEC; ++v)
        for (int k = 0; k < KERNEL_W; ++k) {
            const int column = LEAD + v * STRIDE_W + k * DILATION_W;
            if (column >= j && column < j + LOAD) return true;
        }
    return false;
}

// load_guarded_span fills a span from a row, of which column `left` is at from[offset]. Columns outside of the row, or
// all columns if `there` is false, get the value `outside`. Cached says that the row is loaded from global memory
// through the caches, not from shared memory.
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
