// columns.cuh: pools in two passes: down the columns in registers, then along the rows in shared memory.
//
// A block computes COLUMNS output columns of an image plane, in STEPS steps of ROWS rows. Each step has two passes with
// a barrier between them; shared memory is double-buffered.
//
// Usage:
//
//   extern __shared__ __align__(16) float lines[];  holds ROWS * PITCH floats, or twice that if STEPS > 1.
//   pool_by_columns<Pool>(x, y, lines, epilogue);   computes a block's outputs.
//
// PITCH is the number of floats per row in shared memory, of which LEAD precede the first window. WALKED columns of a
// row lie inside the image, after SKIPPED columns of padding. RUNS is the number of times that a thread reduces VECTOR
// columns in a step.
#pragma once
#include "plane_tiles.cuh"
#include "pooling.cuh"

// reduce_four computes four neighbouring outputs of a row; the first window begins Phase floats after the aligned
// `from`.
template <class Reduction, int Phase>
__device__ __forceinline__ void reduce_four(float (&outputs)[4], const float* from) {
    constexpr int Loaded = round_up(Phase + 3 * STRIDE_W + SPAN_W, 4);
    float taps[Loaded];
#pragma unroll
    for (int j = 0; j < Loaded; j += 4) load_vector<4>(taps + j, from + j);
#pragma unroll
    for (int v = 0; v < 4; ++v) outputs[v] = reduce_across<Reduction>(taps + Phase + v * STRIDE_W);
}

// This overload of reduce_four accepts any alignment of the first window, which begins at column `from`.
template <class Reduction>
__device__ __forceinline__ void reduce_four(float (&outputs)[4], const float* line, int from) {
    switch (from & 3) {
    case 0: reduce_four<Reduction, 0>(outputs, line + from); break;
    case 1: reduce_four<Reduction, 1>(outputs, line + from - 1); break;
    case 2: reduce_four<Reduction, 2>(outputs, line + from - 2); break;
    default: reduce_four<Reduction, 3>(outputs, line + from - 3);
    }
}

// fill_margins writes the padding left and right of the image to shared memory.
template <class Reduction, int Lines>
__device__ __forceinline__ void fill_margins(float* lines, int thread) {
    const int margin = PITCH - WALKED;
    for (int k = thread; k < Lines * margin; k += THREADS) {
        const int at = k % margin;
        lines[k / margin * PITCH + (at < SKIPPED ? at : at + WALKED)] = Reduction::nothing();
    }
}

// ColumnWalk reduces Vector neighbouring input columns vertically, Rows output rows per step. Windows that are
// incomplete at the end of a step stay in registers for the next step. With Prefetch, a step ends by loading the next
// step's rows into registers.
template <class Reduction, int Rows, int Vector, bool Prefetch>
struct ColumnWalk {
    static constexpr int Fresh = Rows * STRIDE_H; // new input rows per step
    static constexpr int Unfinished = (HALO_ROWS + STRIDE_H - 1) / STRIDE_H;

    float kept[Rows + Unfinished][Vector];
    float fetched[Prefetch ? Fresh : 1][Vector];

    static __device__ __forceinline__ void load(float (&to)[Vector], const float* plane, int first_row, int column,
                                                int i) {
        if (row_inside(first_row + i)) {
            load_span<Vector>(to, plane + (long long)(first_row + i) * W, column, Reduction::nothing());
        } else {
#pragma unroll
            for (int e = 0; e < Vector; ++e) to[e] = Reduction::nothing();
        }
    }

    __device__ __forceinline__ void fetch(const float* plane, int first_row, int column) {
#pragma unroll
        for (int i = 0; i < Fresh; ++i)
            if (row_is_used<Rows + Unfinished>(HALO_ROWS + i)) load(fetched[i], plane, first_row, column, HALO_ROWS + i);
    }

    // join adds input row i to all windows that contain it, and stores the windows that row i completes.
    __device__ __forceinline__ void join(float* to, const float (&values)[Vector], int i) {
        join_row<Reduction>(kept, i, values);
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            if (ends_window(i, r)) store_vector<Vector>(to + r * PITCH, kept[r]);
    }

    template <int Ahead>
    __device__ __forceinline__ void join_rows(float* to, const float* plane, int first_row, int column, int begin,
                                              int end) {
#pragma unroll Ahead
        for (int i = begin; i < end; ++i) {
            if (!row_is_used<Rows + Unfinished>(i)) continue;
            float values[Vector];
            load(values, plane, first_row, column, i);
            join(to, values, i);
        }
    }

    // step computes Rows output rows, whose windows begin at input row first_row.
    template <int Ahead>
    __device__ __forceinline__ void step(float* to, const float* plane, int first_row, int column, bool first,
                                         bool last) {
        if (Prefetch && first) fetch(plane, first_row, column);
        if (first) join_rows<Ahead>(to, plane, first_row, column, 0, HALO_ROWS);
        if constexpr (Prefetch) {
#pragma unroll
            for (int i = 0; i < Fresh; ++i)
                if (row_is_used<Rows + Unfinished>(HALO_ROWS + i)) join(to, fetched[i], HALO_ROWS + i);
            if (!last) fetch(plane, first_row + Fresh, column);
        } else {
            join_rows<Ahead>(to, plane, first_row, column, HALO_ROWS, HALO_ROWS + Fresh);
        }
#pragma unroll
        for (int r = 0; r < Unfinished; ++r)
#pragma unroll
            for (int e = 0; e < Vector; ++e) kept[r][e] = kept[r + Rows][e];
    }
};

// pool_by_columns computes a block's outputs; splitting it into several functions would cost registers.
template <class Pool>
__device__ __forceinline__ void pool_by_columns(const float* x, float* y, float* lines, const Epilogue& epilogue) {
    const Tile tile = tile_of(ROWS * STEPS, COLUMNS);
    const float* plane = x + tile.plane * ((long long)H * W);
    const int first_column = tile.column * STRIDE_W - PADDING_W - LEAD;
    fill_margins<Pool, (STEPS > 1 ? 2 : 1) * ROWS>(lines, threadIdx.x);

    const int rows = min(ROWS * STEPS, H_OUT - tile.row);
    ColumnWalk<Pool, ROWS, VECTOR, PREFETCH> columns[RUNS];
    for (int step = 0; step * ROWS < rows; ++step) {
        const int top = tile.row + step * ROWS;

        // First pass, down the columns
        float* reduced = lines + step % 2 * (ROWS * PITCH);
#pragma unroll
        for (int run = 0; run < RUNS; ++run) {
            const int k = SKIPPED + (run * THREADS + (int)threadIdx.x) * VECTOR;
            if (k < SKIPPED + WALKED)
                columns[run].template step<AHEAD>(reduced + k, plane, top * STRIDE_H - PADDING_H, first_column + k,
                                                  step == 0, (step + 1) * ROWS >= rows);
        }
        __syncthreads();

        // Second pass, along the rows
        const long long first = (tile.plane * H_OUT + top) * W_OUT + tile.column;
        const int columns_left = min(COLUMNS, W_OUT - tile.column), rows_left = min(ROWS, H_OUT - top);
        const int skew = COLUMNS == W_OUT ? (int)(first & 31) : 0;
#pragma unroll 2
        for (int k = (int)threadIdx.x * OUTPUTS - skew; k < rows_left * COLUMNS; k += THREADS * OUTPUTS) {
            const int row = k < 0 ? 0 : (unsigned)k / COLUMNS, column = k - row * COLUMNS;
            if (OUTPUTS == 4 && column >= 0 && column + 4 <= columns_left) {
                float outputs[4];
                reduce_four<Pool>(outputs, reduced + row * PITCH, LEAD + column * STRIDE_W);
                finish_row<Pool>(outputs, epilogue, tile.plane, 0, top + row, tile.column + column);
                put<4, STREAMING>(y + first + (long long)row * W_OUT + column, outputs);
                continue;
            }
            // The thread's outputs may cross the end of a row or of the tile.
            for (int at = max(k, 0); at < k + OUTPUTS; ++at) {
                const int its_row = (unsigned)at / COLUMNS, its_column = at - its_row * COLUMNS;
                if (its_column >= columns_left || its_row >= rows_left) continue;
                float output[1] = {reduce_across<Pool>(reduced + its_row * PITCH + LEAD + its_column * STRIDE_W)};
                finish_row<Pool>(output, epilogue, tile.plane, 0, top + its_row, tile.column + its_column);
                put<1, STREAMING>(y + first + (long long)its_row * W_OUT + its_column, output);
            }
        }
    }
}
