// pooling.cuh: the steps that pooling kernels share: the reductions, and reducing a window down its columns and across
// its rows.
//
// A window is reduced in one direction after the other, and only from its own elements: no element is subtracted when a
// window moves on. As a result, a NaN or an infinity affects only the windows that contain it, and errors do not
// accumulate along a row.
#pragma once
#include "convolution_place.cuh"
#include "limits.cuh"
#include "window.cuh"

// max_or_nan returns the larger of a and b, or NaN if a or b is NaN.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    return b > a || b != b ? b : a;
#endif
}

// Sum is the reduction that adds; nothing() returns the sum of no elements.
struct Sum {
    static __device__ __forceinline__ float nothing() { return 0.0f; }
    static __device__ __forceinline__ float join(float a, float b) { return a + b; }
};

// Maximum is the reduction that takes the larger element; nothing() returns the maximum of no elements.
struct Maximum {
    static __device__ __forceinline__ float nothing() { return negative_infinity(); }
    static __device__ __forceinline__ float join(float a, float b) { return max_or_nan(a, b); }
};

// reduce_across reduces the KERNEL_W taps of one window in one row.
template <class Reduction>
__device__ __forceinline__ float reduce_across(const float* first) {
    float reduced = first[0];
#pragma unroll 32
    for (int k = 1; k < KERNEL_W; ++k) reduced = Reduction::join(reduced, first[k * DILATION_W]);
    return reduced;
}

// join_row adds row i of a band to the windows of Rows output rows in `kept`, as far as they contain the row.
template <class Reduction, int Rows, int Count>
__device__ __forceinline__ void join_row(float (&kept)[Rows][Count], int i, const float (&values)[Count]) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const int tap = tap_row(i, r);
        if (tap < 0) continue;
#pragma unroll
        for (int e = 0; e < Count; ++e) kept[r][e] = tap == 0 ? values[e] : Reduction::join(kept[r][e], values[e]);
    }
}

// ends_window tells whether row i of a band is the last of output row r's window.
__device__ __forceinline__ bool ends_window(int i, int r) { return i == r * STRIDE_H + SPAN_H - 1; }

// join_span adds row i of a band to Count neighbouring windows of each output row. The window of the first output
// begins at `from`, in a span of row i. join_span calls ended(r) for every output row r whose windows row i completes.
template <class Reduction, int Rows, int Count, class Ended>
__device__ __forceinline__ void join_span(float (&kept)[Rows][Count], const float* from, int i, Ended ended) {
    float across[Count];
#pragma unroll
    for (int v = 0; v < Count; ++v) across[v] = reduce_across<Reduction>(from + v * STRIDE_W);
    join_row<Reduction>(kept, i, across);
#pragma unroll
    for (int r = 0; r < Rows; ++r)
        if (ends_window(i, r)) ended(r);
}

// finish_row turns the reduced windows of neighbouring outputs of a row, from `column` on, into outputs. `plane` counts
// the channels of all images.
template <class Pool, int Count>
__device__ __forceinline__ void finish_row(float (&windows)[Count], const Epilogue& epilogue, long long plane,
                                           int slice, int row, int column) {
#pragma unroll
    for (int v = 0; v < Count; ++v) windows[v] = Pool::finish(windows[v], slice, row, column + v);
    if constexpr (!Epilogue::kIsNone) {
        const long long its_row = static_cast<long long>(slice) * H_OUT + row;
        epilogue.apply(windows, RowPlace(plane, C, its_row, static_cast<long long>(D_OUT) * H_OUT, column, W_OUT));
    }
}
