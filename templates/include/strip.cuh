// strip.cuh: a strip of the output that a block computes from top to bottom, and the strip's input rows in shared
// memory.
//
// The strip is BLOCK_X * VEC columns wide. In each of its STEPS steps, a block of BLOCK_X x BLOCK_Y threads computes
// BLOCK_Y * ROWS rows. A step loads only the input rows that the step before has not loaded.
//
// Other macros: a thread reads SPAN input columns per row, LEAD of which lie before its first window, and LOAD floats
// at a time. BAND is the number of input rows that ROWS output rows read. PITCH is the number of columns in shared
// memory per row, STAGED_ROWS the number of rows, STAGED the number of floats. FRESH_ROWS is the number of input rows
// that a step loads.
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

    // first_row and first_column return the first input row, and the first aligned input column, that the strip
    // reads.
    __device__ __forceinline__ int first_row() const { return tile.row * STRIDE_H - PADDING_H; }
    __device__ __forceinline__ int first_column() const { return tile.column * STRIDE_W - PADDING_W - STAGE_LEAD; }

    // row_is_read tells whether any window reads the strip's input row i. Rows between windows are not read if the
    // stride is larger than the window.
    static __device__ __forceinline__ bool row_is_read(int i) { return i % STRIDE_H < SPAN_H; }

    // load_span_of loads a thread's columns of an input row from shared memory; the thread's first window begins at
    // span[LEAD].
    static __device__ __forceinline__ void load_span_of(float (&span)[SPAN], const float* staged) {
        staged += threadIdx.x * (VEC * STRIDE_W) + STAGE_LEAD - LEAD;
#pragma unroll
        for (int j = 0; j < SPAN; j += LOAD) load_vector<LOAD>(span + j, staged + j);
    }

    // output_at returns the index in the tensor at which a row of the strip's outputs begins.
    __device__ __forceinline__ long long output_at(int output_row) const {
        return (tile.plane * H_OUT + output_row) * W_OUT;
    }
};
