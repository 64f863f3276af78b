// pooling.cuh: the reductions of pooling kernels: down the columns of a window, then across its rows.
//
// Each window is computed only from its own elements, never by subtracting elements from the window before it. A NaN
// or an infinity therefore affects only the windows that contain it.
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

// Sum is the reduction by addition; nothing() returns 0.
struct Sum {
    static __device__ __forceinline__ float nothing() { return 0.0f; }
    static __device__ __forceinline__ float join(float a, float b) { return a + b; }
};

// Maximum is the reduction by the larger element; nothing() returns the neutral element.
struct Maximum {
    static __device__ __forceinline__ float nothing() { return negative_infinity(); }
    static __device__ __forceinline__ float join(float a, float b) { return max_or_nan(a, b); }
};

// reduce_across reduces the KERNEL_W elements of one window in one row.
template <class Reduction>
__device__ __forceinline__ float reduce_across(const float* first) {
    float reduced = first[0];
#pragma unroll 32
    for (int k = 1; k < KERNEL_W; ++k) reduced = Reduction::join(reduced, first[k * DILATION_W]);
    return reduced;
}

// join_row adds input row i to the unfinished windows in `kept` that contain the row.
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

// ends_window tells whether input row i is the last row of output row r's window.
__device__ __forceinline__ bool ends_window(int i, int r) { return i == r * STRIDE_H + SPAN_H - 1; }

// join_span adds input row i to Count neighbouring windows of each output row. join_span calls ended(r) for every
// output row r whose windows end with row i.
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

// finish_row turns the reduced windows of neighbouring outputs into output values.
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
