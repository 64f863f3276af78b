// window.cuh: the steps that kernels over sliding windows share.
//
// op.yaml gives H, W, H_OUT, W_OUT, KERNEL_*, STRIDE_*, PADDING_*, DILATION_*, SPAN_* (the extent of a dilated window)
// and HALO_ROWS (the rows of a halo) as macros. Terms used here:
//
//   band:   the input rows that a run of output rows reads.
//   halo:   the rows that two neighbouring bands have in common.
//   span:   the input columns that a run of outputs in one row reads.
//   gather: collecting a tile of outputs in shared memory before storing it.
//
// Template parameters are in CamelCase, because a kernel's tunables are macros in capitals and would replace them.
//
// Positions, and possibly the sizes of the image, are known only at run time. The sizes of windows are known at compile
// time, so that unrolled loops resolve which row belongs to which window.
#pragma once
#include "vector_access.cuh"

// round_up returns the smallest multiple of `to` that is at least n.
__host__ __device__ constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }

// tap_row returns the index of the band's row i among the rows of output row r's window, or -1 if the window does not
// contain row i.
__host__ __device__ constexpr int tap_row(int i, int r) {
    return i < r * STRIDE_H || (i - r * STRIDE_H) % DILATION_H != 0 ||
                   (i - r * STRIDE_H) / DILATION_H >= KERNEL_H
               ? -1
               : (i - r * STRIDE_H) / DILATION_H;
}

// row_is_used tells whether any of Rows output rows reads the band's row i: dilation, and strides larger than the
// window, skip rows.
template <int Rows>
__device__ __forceinline__ bool row_is_used(int i) {
    bool used = false;
#pragma unroll
    for (int r = 0; r < Rows; ++r) used = used || tap_row(i, r) >= 0;
    return used;
}

__device__ __forceinline__ bool row_inside(int row) { return (unsigned)row < (unsigned)H; }

// load_span fills `to` with Count columns of an input row from column `first` on, and with `outside` for columns
// outside of the image. load_span loads Vector floats at a time, so `first` and W must be multiples of Vector.
template <int Vector, int Count>
__device__ __forceinline__ void load_span(float (&to)[Count], const float* row, int first, float outside) {
#pragma unroll
    for (int j = 0; j < Count; j += Vector) {
        if ((unsigned)(first + j) < (unsigned)W) {
            load_vector<Vector>(to + j, row + first + j);
        } else {
#pragma unroll
            for (int e = 0; e < Vector; ++e) to[j + e] = outside;
        }
    }
}

// put stores Vector outputs. Streaming stores leave the L2 to input rows that other blocks will read again.
template <int Vector, bool Streaming>
__device__ __forceinline__ void put(float* to, const float* outputs) {
    if (Streaming)
        store_vector_streaming<Vector>(to, outputs);
    else
        store_vector<Vector>(to, outputs);
}

// gather_skew returns the index of a run's first output in the shared buffer, such that the output has the same offset
// from the start of a 128-byte line as in the tensor.
__device__ __forceinline__ int gather_skew(long long first_output) { return (int)(first_output & 31); }

// gather copies Count neighbouring outputs of a row, from output column `column` on, into the shared buffer; `row`
// points to the start of the row in the buffer.
template <int Count>
__device__ __forceinline__ void gather(float* row, int column, const float* outputs) {
    constexpr int Pair = Count % 2 == 0 ? 2 : 1;
    const int left = W_OUT - column;
#pragma unroll
    for (int v = 0; v < Count; v += Pair)
        if (W_OUT % Pair == 0) {
            if (v < left) store_vector<Pair>(row + column + v, outputs + v);
        } else {
#pragma unroll
            for (int e = v; e < v + Pair; ++e)
                if (e < left) row[column + e] = outputs[e];
        }
}

// store_gathered stores `count` outputs that are contiguous in the tensor from `first_output` on. The shared buffer
// holds the gathered outputs from the index on that gather_skew returns, so that warps store whole 128-byte lines,
// whatever the width of the rows.
template <int Threads, bool Streaming>
__device__ __forceinline__ void store_gathered(float* y, long long first_output, const float* buffer, int count,
                                               int thread) {
    const int begin = gather_skew(first_output), end = begin + count;
    float* to = y + (first_output - begin);
#pragma unroll 4
    for (int k = thread * 4; k < end; k += Threads * 4) {
        if (k >= begin && k + 4 <= end) {
            float outputs[4];
            load_vector<4>(outputs, buffer + k);
            put<4, Streaming>(to + k, outputs);
        } else {
#pragma unroll 1
            for (int e = max(k, begin); e < min(k + 4, end); ++e) to[e] = buffer[e];
        }
    }
}
