// pooling.cuh: the steps that 2-D pooling kernels share: what a window is
// reduced with, and reducing it down its columns and across its rows.
//
// A window is reduced one direction after the other, and afresh each time:
// what left a window is never subtracted, so a NaN or an infinity stays in the
// windows that contain it and errors do not pile up along a row.
#pragma once
#include "window.cuh"

// max_or_nan gives the larger of a and b, or NaN when either is NaN.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    return b > a || b != b ? b : a;
#endif
}

// Sum adds; nothing is 0.
struct Sum {
    static __device__ __forceinline__ float nothing() { return 0.0f; }
    static __device__ __forceinline__ float join(float a, float b) { return a + b; }
};

// Maximum takes the larger; nothing is -infinity.
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

// join_row joins row i of a band to those of `kept`, the windows of Rows
// output rows, that contain it.
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
__device__ __forceinline__ bool ends_window(int i, int r) { return i == r * STRIDE_H + (KERNEL_H - 1) * DILATION_H; }

// fill_margins fills what lies left and right of the image in lines of Pitch
// columns, of which Walked, after Skipped, are an image's own: padding has
// columns, but nothing to walk down.
template <class Reduction, int Threads, int Lines, int Pitch, int Skipped, int Walked>
__device__ __forceinline__ void fill_margins(float* lines, int thread) {
    constexpr int Margin = Pitch - Walked;
    if constexpr (Margin > 0) {
        for (int k = thread; k < Lines * Margin; k += Threads) {
            const int at = k % Margin;
            lines[k / Margin * Pitch + (at < Skipped ? at : at + Walked)] = Reduction::nothing();
        }
    }
}

// ColumnWalk reduces Vector neighbouring columns of an input plane down the
// windows of one output row after another, Rows of them a step. Windows that a
// step leaves unfinished stay in registers for the next, so that every row of a
// strip is loaded once.
template <class Reduction, int Rows, int Vector>
struct ColumnWalk {
    static constexpr int Fresh = Rows * STRIDE_H;                                        // input rows that a step adds
    static constexpr int Shared = band_rows(1) > STRIDE_H ? band_rows(1) - STRIDE_H : 0; // with the step before
    static constexpr int Unfinished = (Shared + STRIDE_H - 1) / STRIDE_H;

    float kept[Rows + Unfinished][Vector];

    // join joins the rows [begin, end) of a step's band, which begins at input
    // row first_row, to the windows; those that end go to to[r * Pitch].
    template <int Pitch, int Ahead>
    __device__ __forceinline__ void join(float* to, const float* plane, int first_row, int column, int begin, int end) {
        const float* from = plane + (long long)first_row * W;
#pragma unroll Ahead
        for (int i = begin; i < end; ++i) {
            if (!row_is_used<Rows + Unfinished>(i)) continue;
            float values[Vector];
            if (row_inside(first_row + i)) {
                load_span<Vector>(values, from + (long long)i * W, column, Reduction::nothing());
            } else {
#pragma unroll
                for (int e = 0; e < Vector; ++e) values[e] = Reduction::nothing();
            }
            join_row<Reduction>(kept, i, values);
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                if (ends_window(i, r)) store_vector<Vector>(to + r * Pitch, kept[r]);
        }
    }

    // step takes the windows of the next Rows output rows to their ends.
    template <int Pitch, int Ahead>
    __device__ __forceinline__ void step(float* to, const float* plane, int first_row, int column, bool first) {
        if (first) join<Pitch, Ahead>(to, plane, first_row, column, 0, Shared);
        join<Pitch, Ahead>(to, plane, first_row, column, Shared, Shared + Fresh);
#pragma unroll
        for (int r = 0; r < Unfinished; ++r)
#pragma unroll
            for (int e = 0; e < Vector; ++e) kept[r][e] = kept[r + Rows][e];
    }
};
