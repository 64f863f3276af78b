// guarded_span.cuh: the input columns that a thread's VEC neighbouring windows read, loaded
// without branches (guarded_load.cuh), for kernels of volume.cuh.
//
// The macros, beside window.cuh's: VEC, the windows; LOAD, the elements per load that a span is
// aligned to; LEAD, its columns before the first window; SPAN, its columns.
#pragma once
#include "guarded_load.cuh"
#include "window.cuh"

// columns_are_used tells whether any window reads one of a span's LOAD columns from j on.
__host__ __device__ constexpr bool columns_are_used(int j) {
    for (int v = 0; v < VEC; ++v)
        for (int k = 0; k < KERNEL_W; ++k) {
            const int column = LEAD + v * STRIDE_W + k * DILATION_W;
            if (column >= j && column < j + LOAD) return true;
        }
    return false;
}

// load_guarded_span fills a span from a row. Its column `left` is at from[offset]. The span has
// `outside` where the row is not `there` or ends. Cached says that they lie in global memory.
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
