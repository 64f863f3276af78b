// strip.cuh: a strip of the output that a block walks down: its positions, and how a thread reads the strip's input
// rows in shared memory.
//
// A block of BLOCK_X x BLOCK_Y threads computes BLOCK_X * VEC columns of one plane's outputs and walks down STEPS steps
// of BLOCK_Y * ROWS rows. A step adds fresh input rows to the halo, which it shares with the step before.
//
// Macros used besides those of window.cuh are the tunables BLOCK_X, BLOCK_Y, ROWS, VEC, STEPS, AHEAD, STREAMING, and
// values that op.yaml derives from them. A span has SPAN columns, LEAD of which lie before the thread's first window; a
// thread loads LOAD floats of a span at a time, and spans begin at multiples of LOAD. BAND is the number of input rows
// that ROWS output rows read. STAGE_LOAD and STAGE_LEAD are LOAD and LEAD for the strip's rows in shared memory. PITCH
// is the number of columns staged per row, STAGED_ROWS the number of rows staged, STAGED their floats. FRESH_ROWS is
// the number of input rows that a step adds, BARRIERS the number of floats that barriers occupy.
#pragma once
#include "plane_tiles.cuh"
#include "window.cuh"

struct Strip {
    static constexpr int Threads = BLOCK_X * BLOCK_Y;
    static constexpr int StepRows = BLOCK_Y * ROWS, TileRows = StepRows * STEPS, TileColumns = BLOCK_X * VEC;

    Tile tile;
    int row, column; // of the thread's first output in this step
    int step, steps; // down to the end of the plane or the strip

    __device__ __forceinline__ Strip()
        : tile(tile_of(TileRows, TileColumns)), row(tile.row + threadIdx.y * ROWS),
          column(tile.column + threadIdx.x * VEC), step(0),
          steps(min((int)STEPS, (H_OUT - tile.row + StepRows - 1) / StepRows)) {}

    static __device__ __forceinline__ int thread() { return threadIdx.y * BLOCK_X + threadIdx.x; }
    __device__ __forceinline__ bool more() const { return step < steps; }

    // first_row and first_column return the first input row and column that the strip reads; the column is aligned.
    __device__ __forceinline__ int first_row() const { return tile.row * STRIDE_H - PADDING_H; }
    __device__ __forceinline__ int first_column() const { return tile.column * STRIDE_W - PADDING_W - STAGE_LEAD; }

    // row_is_read tells whether a window reads the strip's input row i: no window does if the row lies between two
    // windows, since the stride is larger than the window.
    static __device__ __forceinline__ bool row_is_read(int i) { return i % STRIDE_H < SPAN_H; }

    // load_span_of fills `span` from a staged row. The window of the thread's first
    // output begins at span[LEAD].
    static __device__ __forceinline__ void load_span_of(float (&span)[SPAN], const float* staged) {
        staged += threadIdx.x * (VEC * STRIDE_W) + STAGE_LEAD - LEAD;
#pragma unroll
        for (int j = 0; j < SPAN; j += LOAD) load_vector<LOAD>(span + j, staged + j);
    }

    // output_at returns where a row of the strip's outputs begins in the tensor.
    __device__ __forceinline__ long long output_at(int output_row) const {
        return (tile.plane * H_OUT + output_row) * W_OUT;
    }
};
