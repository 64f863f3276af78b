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

// reduce_four reduces the windows of four neighbouring outputs, the first of
// which begins Phase columns after the 16-byte aligned `from`.
template <class Reduction, int Phase>
__device__ __forceinline__ void reduce_four(float (&outputs)[4], const float* from) {
    constexpr int Loaded = round_up(Phase + span_columns(4), 4);
    float taps[Loaded];
#pragma unroll
    for (int j = 0; j < Loaded; j += 4) load_vector<4>(taps + j, from + j);
#pragma unroll
    for (int v = 0; v < 4; ++v) outputs[v] = reduce_across<Reduction>(taps + Phase + v * STRIDE_W);
}

// reduce_four with a phase known at run time: `from` is where the first window
// begins. All threads of a row have the same phase and take the same branch.
template <class Reduction>
__device__ __forceinline__ void reduce_four(float (&outputs)[4], const float* line, int from) {
    switch (from & 3) {
    case 0: reduce_four<Reduction, 0>(outputs, line + from); break;
    case 1: reduce_four<Reduction, 1>(outputs, line + from - 1); break;
    case 2: reduce_four<Reduction, 2>(outputs, line + from - 2); break;
    default: reduce_four<Reduction, 3>(outputs, line + from - 3);
    }
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
// strip is loaded once. When Prefetch is set, so do the next step's rows.
template <class Reduction, int Rows, int Vector, bool Prefetch>
struct ColumnWalk {
    static constexpr int Fresh = Rows * STRIDE_H;                                        // input rows that a step adds
    static constexpr int Shared = band_rows(1) > STRIDE_H ? band_rows(1) - STRIDE_H : 0; // with the step before
    static constexpr int Unfinished = (Shared + STRIDE_H - 1) / STRIDE_H;

    float kept[Rows + Unfinished][Vector];
    float fetched[Prefetch ? Fresh : 1][Vector];

    // load loads row i of a step's band, which begins at input row first_row.
    static __device__ __forceinline__ void load(float (&to)[Vector], const float* plane, int first_row, int column,
                                                int i) {
        if (row_inside(first_row + i)) {
            load_span<Vector>(to, plane + (long long)(first_row + i) * W, column, Reduction::nothing());
        } else {
#pragma unroll
            for (int e = 0; e < Vector; ++e) to[e] = Reduction::nothing();
        }
    }

    // fetch loads the rows that the step from first_row on adds.
    __device__ __forceinline__ void fetch(const float* plane, int first_row, int column) {
#pragma unroll
        for (int i = 0; i < Fresh; ++i)
            if (row_is_used<Rows + Unfinished>(Shared + i)) load(fetched[i], plane, first_row, column, Shared + i);
    }

    // join joins row i to the windows that contain it; those that end go to
    // to[r * Pitch].
    template <int Pitch>
    __device__ __forceinline__ void join(float* to, const float (&values)[Vector], int i) {
        join_row<Reduction>(kept, i, values);
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            if (ends_window(i, r)) store_vector<Vector>(to + r * Pitch, kept[r]);
    }

    // join_rows loads and joins the rows [begin, end).
    template <int Pitch, int Ahead>
    __device__ __forceinline__ void join_rows(float* to, const float* plane, int first_row, int column, int begin,
                                              int end) {
#pragma unroll Ahead
        for (int i = begin; i < end; ++i) {
            if (!row_is_used<Rows + Unfinished>(i)) continue;
            float values[Vector];
            load(values, plane, first_row, column, i);
            join<Pitch>(to, values, i);
        }
    }

    // step takes the windows of the Rows output rows that begin at input row
    // first_row to their ends.
    template <int Pitch, int Ahead>
    __device__ __forceinline__ void step(float* to, const float* plane, int first_row, int column, bool first,
                                         bool last) {
        if (Prefetch && first) fetch(plane, first_row, column);
        if (first) join_rows<Pitch, Ahead>(to, plane, first_row, column, 0, Shared);
        if constexpr (Prefetch) {
#pragma unroll
            for (int i = 0; i < Fresh; ++i)
                if (row_is_used<Rows + Unfinished>(Shared + i)) join<Pitch>(to, fetched[i], Shared + i);
            if (!last) fetch(plane, first_row + Fresh, column);
        } else {
            join_rows<Pitch, Ahead>(to, plane, first_row, column, Shared, Shared + Fresh);
        }
#pragma unroll
        for (int r = 0; r < Unfinished; ++r)
#pragma unroll
            for (int e = 0; e < Vector; ++e) kept[r][e] = kept[r + Rows][e];
    }
};
