// element_rows.cuh: loads and stores neighbouring elements of an image row, of any element type.
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

// store_elements_of_row stores Count neighbouring outputs of a row from column `column` on, by the widest stores that
// alignment allows. Outputs past the row's end are not stored.
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

// floats_of casts an output pointer to float* for kernels that use GATHER, which support only f32.
static_assert(!GATHER || !kOf16Bits, "what is gathered are floats");
__device__ __forceinline__ float* floats_of(Element* y) { return reinterpret_cast<float*>(y); }
