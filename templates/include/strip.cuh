// strip.cuh: what blocks that walk down a strip of the output have in common:
// where they are, and how a thread reads the strip's input rows in shared memory.
//
// A block of BLOCK_X x BLOCK_Y threads owns BLOCK_X * VEC columns of one plane's
// outputs and walks down STEPS steps of BLOCK_Y * ROWS rows. A step adds fresh
// input rows to those that it shares with the step before.
//
// Beside window.cuh's sizes these macros are defined: the tunables BLOCK_X,
// BLOCK_Y, ROWS, VEC, STEPS, AHEAD, STREAMING, and what follows from them: LOAD,
// the floats per load that a thread's span is aligned to; STAGE_LOAD, those that
// the strip's rows are aligned to; PITCH, the columns staged per row.
#pragma once
#include "window.cuh"

struct Strip {
    static constexpr int Threads = BLOCK_X * BLOCK_Y;
    static constexpr int StepRows = BLOCK_Y * ROWS, TileRows = StepRows * STEPS, TileColumns = BLOCK_X * VEC;
    static constexpr int Lead = lead(LOAD), StageLead = lead(STAGE_LOAD);
    static constexpr int Span = round_up(Lead + span_columns(VEC), LOAD);
    static constexpr int Fresh = StepRows * STRIDE_H;                                    // input rows that a step adds
    static constexpr int Shared = band_rows(1) > STRIDE_H ? band_rows(1) - STRIDE_H : 0; // with the step before

    Tile tile;
    int row, column; // of the thread's first output in this step
    int step, steps; // down to the end of the plane or the strip

    __device__ __forceinline__ Strip()
        : tile(tile_of<TileRows, TileColumns>(blockIdx.x)), row(tile.row + threadIdx.y * ROWS),
          column(tile.column + threadIdx.x * VEC), step(0),
          steps(min((int)STEPS, (H_OUT - tile.row + StepRows - 1) / StepRows)) {}

    static __device__ __forceinline__ int thread() { return threadIdx.y * BLOCK_X + threadIdx.x; }
    __device__ __forceinline__ bool more() const { return step < steps; }

    // first_row and first_column are where the input begins that the strip reads,
    // columns from an aligned one on.
    __device__ __forceinline__ int first_row() const { return tile.row * STRIDE_H - PADDING_H; }
    __device__ __forceinline__ int first_column() const { return tile.column * STRIDE_W - PADDING_W - StageLead; }

    // row_is_read tells whether a window reads the strip's input row i: strides
    // over the kernel leave rows out.
    static __device__ __forceinline__ bool row_is_read(int i) { return i % STRIDE_H < band_rows(1); }

    // load_span_of fills `span` from a staged row. The windows of the thread's
    // first output begin at span[Lead].
    static __device__ __forceinline__ void load_span_of(float (&span)[Span], const float* staged) {
        staged += threadIdx.x * (VEC * STRIDE_W) + StageLead - Lead;
#pragma unroll
        for (int j = 0; j < Span; j += LOAD) load_vector<LOAD>(span + j, staged + j);
    }

    // output_at is where the outputs of a row of the plane begin in the tensor.
    __device__ __forceinline__ long long output_at(int output_row) const {
        return (tile.plane * H_OUT + output_row) * W_OUT;
    }
};
