// stream.cuh: blocks that walk down a strip of the output while the input rows
// of the steps to come are on their way.
//
// A block of BLOCK_X x BLOCK_Y threads owns BLOCK_X * VEC columns of one plane's
// outputs and walks down STEPS steps of BLOCK_Y * ROWS rows. Its input rows go
// through a ring in shared memory: a step reads the rows that it shares with
// the step before, which are still there, and fresh ones, which were asked for
// AHEAD steps earlier. No row is loaded twice but at the strips' ends, and the
// only wait is one barrier a step.
//
//   Stream stream(x, shared, outside);
//   for (int step = 0; step < stream.steps; ++step) {
//       stream.begin(step);                   the step's rows are there
//       stream.load_row(span, i);             the thread's span of row i of its band
//       stream.store_row(y, r, outputs);      its outputs of row r
//       stream.end(y);                        stores what was gathered
//   }
//
// Beside window.cuh's sizes these macros are defined: the tunables BLOCK_X,
// BLOCK_Y, ROWS, VEC, STEPS, AHEAD, GATHER, STREAMING, and what follows from
// them: LOAD, the floats per load that a thread's span is aligned to;
// STAGE_LOAD, those that the strip's rows are aligned to; PITCH, the columns
// staged per row.
#pragma once
#include "window.cuh"

struct Stream {
    static constexpr int Threads = BLOCK_X * BLOCK_Y;
    static constexpr int StepRows = BLOCK_Y * ROWS, TileRows = StepRows * STEPS, TileColumns = BLOCK_X * VEC;
    static constexpr int Lead = lead(LOAD), StageLead = lead(STAGE_LOAD);
    static constexpr int Span = round_up(Lead + span_columns(VEC), LOAD);
    static constexpr int Fresh = StepRows * STRIDE_H;                                // input rows that a step adds
    static constexpr int Shared = band_rows(1) > STRIDE_H ? band_rows(1) - STRIDE_H : 0; // with the step before
    static constexpr int Ring = Shared + Fresh * (AHEAD < STEPS ? AHEAD + 1 : STEPS);
    static constexpr int Gathered = round_up(Ring * PITCH, 4); // floats before the gathered outputs

    Tile tile;
    int row, column;   // of the thread's first output in this step
    int steps;         // down to the end of the plane or the strip
    int start;         // ring row of the step's first input row
    const float* from; // input plane
    float* shared;
    float outside;

    __device__ __forceinline__ Stream(const float* x, float* shared, float outside)
        : tile(tile_of<TileRows, TileColumns>(blockIdx.x)), row(tile.row + threadIdx.y * ROWS),
          column(tile.column + threadIdx.x * VEC),
          steps(min((int)STEPS, (H_OUT - tile.row + StepRows - 1) / StepRows)), start(0),
          from(x + tile.plane * ((long long)H * W)), shared(shared), outside(outside) {
        request(0, 0, Shared + Fresh);
#pragma unroll
        for (int step = 1; step < AHEAD; ++step) request(step, Shared + step * Fresh, Fresh);
    }

    static __device__ __forceinline__ int thread() { return threadIdx.y * BLOCK_X + threadIdx.x; }

    // request starts copying `count` input rows of a step, the strip's rows from
    // `first` on, into the ring. A request past the last step copies nothing,
    // but counts as a group, so that waiting needs no special case.
    __device__ __forceinline__ void request(int step, int first, int count) {
        constexpr int PerRow = PITCH / STAGE_LOAD;
        if (step < steps) {
            const int first_row = tile.row * STRIDE_H - PADDING_H + first;
            const int first_column = tile.column * STRIDE_W - PADDING_W - StageLead;
            const int slot = first % Ring;
            for (int k = thread(); k < count * PerRow; k += Threads) {
                const int i = k / PerRow, at = k % PerRow * STAGE_LOAD;
                if ((first + i) % STRIDE_H >= band_rows(1)) continue; // strides over the kernel leave rows out
                float* to = shared + (slot + i < Ring ? slot + i : slot + i - Ring) * PITCH + at;
                if (row_inside(first_row + i) && (unsigned)(first_column + at) < (unsigned)W) {
                    async_copy<4 * STAGE_LOAD>(to, from + (long long)(first_row + i) * W + first_column + at);
                } else {
#pragma unroll
                    for (int e = 0; e < STAGE_LOAD; ++e) to[e] = outside;
                }
            }
        }
        async_copy_commit();
    }

    // begin waits for the step's rows and asks for those AHEAD of it, which take
    // the place in the ring that the step before has left.
    __device__ __forceinline__ void begin(int step) {
        async_copy_wait<AHEAD - 1>();
        __syncthreads();
        request(step + AHEAD, Shared + (step + AHEAD) * Fresh, Fresh);
    }

    // load_row fills `span` from row i of the thread's band. The windows of the
    // thread's first output begin at span[Lead].
    __device__ __forceinline__ void load_row(float (&span)[Span], int i) const {
        int slot = start + threadIdx.y * (ROWS * STRIDE_H) + i;
        if (slot >= Ring) slot -= Ring;
        const float* staged = shared + slot * PITCH + threadIdx.x * (VEC * STRIDE_W) + StageLead - Lead;
#pragma unroll
        for (int j = 0; j < Span; j += LOAD) load_vector<LOAD>(span + j, staged + j);
    }

    // store_row stores the thread's outputs of its row r, or puts them where end
    // will find them.
    __device__ __forceinline__ void store_row(float* y, int r, const float (&outputs)[VEC]) const {
        if (row + r >= H_OUT) return;
        if (!GATHER) {
            store_outputs<VEC, STREAMING>(y + (tile.plane * H_OUT + row + r) * W_OUT, column, outputs);
            return;
        }
        gather<VEC>(shared + Gathered + gather_skew(first_output()) + (threadIdx.y * ROWS + r) * W_OUT, column, outputs);
    }

    // end stores what was gathered and moves on to the next step.
    __device__ __forceinline__ void end(float* y) {
        if (GATHER) {
            __syncthreads();
            const int rows = min(StepRows, H_OUT - step_row());
            store_gathered<Threads, STREAMING>(y, first_output(), shared + Gathered, rows * W_OUT, thread());
        }
        row += StepRows;
        start = start + Fresh < Ring ? start + Fresh : start + Fresh - Ring;
    }

    // first_output is where the step's outputs begin; a strip that gathers is as
    // wide as the output, and a step's outputs lie side by side.
    __device__ __forceinline__ int step_row() const { return row - threadIdx.y * ROWS; }
    __device__ __forceinline__ long long first_output() const { return (tile.plane * H_OUT + step_row()) * W_OUT; }
};
