// element_rows.cuh: loads and stores of rows of elements of any type; the counterpart for floats is load_span in
// window.cuh.
#pragma once
#include "element.cuh"
#include "window.cuh"

template <int Vector, int Count>
__device__ __forceinline__ void load_elements_span(float (&to)[Count], const Element* row, int first, float outside) {
#pragma unroll
    for (int j = 0; j < Count; j += Vector) {
#pragma unroll
        for (int e = 0; e < Vector; ++e) to[j + e] = outside;
        if ((unsigned)(first + j) < (unsigned)W) load_elements<Vector>(to + j, row + first + j);
    }
}

template <int Vector, int Count, bool Streaming>
__device__ __forceinline__ void store_elements_by(Element* row, int column, const float* outputs) {
#pragma unroll
    for (int v = 0; v < Count; v += Vector)
        if (column + v < W_OUT) store_elements<Vector, Streaming>(row + column + v, outputs + v);
}

// store_elements_of_row stores Count neighbouring outputs of a row from output column `column` on, as wide as the rows'
// alignment allows, and nothing past the row's end.
template <int Count, bool Streaming>
__device__ __forceinline__ void store_elements_of_row(Element* row, int column, const float* outputs) {
    constexpr int Pair = Count % 2 == 0 ? 2 : 1;
    if (W_OUT % Count == 0)
        store_elements_by<Count, Count, Streaming>(row, column, outputs);
    else if (W_OUT % Pair == 0)
        store_elements_by<Pair, Count, Streaming>(row, column, outputs);
    else
        store_elements_by<1, Count, Streaming>(row, column, outputs);
}

// floats_of casts outputs to floats, for kernels that gather outputs in shared memory; these kernels have no 16-bit
// elements.
static_assert(!GATHER || !kOf16Bits, "what is gathered are floats");
__device__ __forceinline__ float* floats_of(Element* y) { return reinterpret_cast<float*>(y); }
