// window.cuh: the steps that kernels for sliding windows (pooling and depthwise convolution) share.
//
// SPAN_H and SPAN_W are the extents of a dilated window, and HALO_ROWS is the number of rows of a halo.
//
// Template parameters are in CamelCase, because names in capitals may be macros for tunables. The sizes of windows
// are known at compile time, so that unrolled loops resolve which row belongs to which window.
//
// Terms used here:
//
//   band:   the input rows that a thread's output rows read
//   halo:   the rows that two neighbouring bands share
//   span:   the input columns that a thread's outputs in one row read
//   gather: collecting a tile of outputs in shared memory before storing it
#pragma once
#include "vector_access.cuh"

// round_up returns the smallest multiple of `to` that is at least n.
__host__ __device__ constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }

// tap_row returns the index of a thread's i-th input row in the window of output row r, or -1 if the window does not
// contain that row.
__host__ __device__ constexpr int tap_row(int i, int r) {
    return i < r * STRIDE_H || (i - r * STRIDE_H) % DILATION_H != 0 ||
                   (i - r * STRIDE_H) / DILATION_H >= KERNEL_H
               ? -1
               : (i - r * STRIDE_H) / DILATION_H;
}

// row_is_used tells whether any of Rows output rows reads input row i; dilation and large strides skip rows.
template <int Rows>
__device__ __forceinline__ bool row_is_used(int i) {
    bool used = false;
#pragma unroll
    for (int r = 0; r < Rows; ++r) used = used || tap_row(i, r) >= 0;
    return used;
}

__device__ __forceinline__ bool row_inside(int row) { return (unsigned)row < (unsigned)H; }

// load_span loads Count columns of an input row from column `first` on, with `outside` for columns outside of the
// image. load_span loads Vector floats at a time, so `first` and W must be multiples of Vector.
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

// put stores Vector outputs. Streaming stores leave the L2 to input rows that other blocks read.
template <int Vector, bool Streaming>
__device__ __forceinline__ void put(float* to, const float* outputs) {
    if (Streaming)
        store_vector_streaming<Vector>(to, outputs);
    else
        store_vector<Vector>(to, outputs);
}

// gather_skew returns where outputs begin in the shared buffer: at the same offset from a 128-byte boundary as in the
// tensor, so that warps store whole cache lines.
__device__ __forceinline__ int gather_skew(long long first_output) { return (int)(first_output & 31); }

// gather copies Count neighbouring outputs of a row, from output column `column` on, into the shared buffer.
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

// store_gathered stores `count` contiguous outputs from the shared buffer, in whole 128-byte lines.
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
