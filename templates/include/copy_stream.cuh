// copy_stream.cuh: a strip whose rows the threads copy, STAGE_LOAD floats per asynchronous copy (see stream.cuh). The
// threads store the strip's outputs straight from registers or, when GATHER is set, through shared memory: the outputs
// of a strip as wide as the output are one flat run of the tensor.
//
// The staged rows form a ring buffer of AHEAD + 1 stages of fresh rows, and the halo. A step reads the halo, which
// earlier steps have loaded, and fresh rows, which were requested AHEAD steps earlier. Only rows at the strips' ends
// are loaded twice. A step waits at one barrier, and at a second one if it gathers outputs.
#pragma once
#include "async_copy.cuh"
#include "element_rows.cuh"
#include "strip.cuh"

#if !COPY_ENGINE

struct CopyStream : Strip {
    static constexpr int Ring = STAGED_ROWS;

    const float* from; // input plane
    float* ring;
    float outside;
    int start;         // ring row of the step's first input row

    __device__ __forceinline__ CopyStream(const float* x, float* shared, float outside)
        : from(x + tile.plane * ((long long)H * W)), ring(shared), outside(outside), start(0) {
        request(0, 0, HALO_ROWS + FRESH_ROWS);
#pragma unroll
        for (int step = 1; step < AHEAD; ++step) request(step, HALO_ROWS + step * FRESH_ROWS, FRESH_ROWS);
    }

    // request starts copying `count` input rows of a step, beginning with the strip's row `first`, into the ring. A
    // request past the last step copies nothing, but still commits a group, so that waiting needs no special case.
    __device__ __forceinline__ void request(int step, int first, int count) {
        constexpr int PerRow = PITCH / STAGE_LOAD;
        if (step < steps) {
            const int slot = first % Ring;
            for (int k = thread(); k < count * PerRow; k += Threads) {
                const int i = k / PerRow, at = k % PerRow * STAGE_LOAD;
                if (!row_is_read(first + i)) continue;
                const int input_row = first_row() + first + i, input_column = first_column() + at;
                float* to = ring + wrapped(slot + i) * PITCH + at;
                if (row_inside(input_row) && (unsigned)input_column < (unsigned)W) {
                    async_copy<4 * STAGE_LOAD>(to, from + (long long)input_row * W + input_column);
                } else {
#pragma unroll
                    for (int e = 0; e < STAGE_LOAD; ++e) to[e] = outside;
                }
            }
        }
        async_copy_commit();
    }

    static __device__ __forceinline__ int wrapped(int slot) { return slot < Ring ? slot : slot - Ring; }

    // begin waits for the step's rows and requests the rows of the step AHEAD steps later, which replace rows that the
    // previous step has read.
    __device__ __forceinline__ void begin() {
        async_copy_wait<AHEAD - 1>();
        __syncthreads();
        request(step + AHEAD, HALO_ROWS + (step + AHEAD) * FRESH_ROWS, FRESH_ROWS);
    }

    __device__ __forceinline__ void load_row(float (&span)[SPAN], int i) const {
        load_span_of(span, ring + wrapped(start + threadIdx.y * (ROWS * STRIDE_H) + i) * PITCH);
    }

    // store_row stores the thread's outputs of its row r, or gathers them in shared memory for `end` to store.
    __device__ __forceinline__ void store_row(float* y, int r, const float (&outputs)[VEC]) const {
        if (row + r >= H_OUT) return;
        if (GATHER)
            gather<VEC>(ring + STAGED + gather_skew(first_output()) + (threadIdx.y * ROWS + r) * W_OUT, column, outputs);
        else
            store_elements_of_row<VEC, STREAMING>(y + output_at(row + r), column, outputs);
    }

    // end stores the gathered outputs and moves on to the next step.
    __device__ __forceinline__ void end(float* y) {
        if (GATHER) {
            __syncthreads();
            const int rows = min(StepRows, H_OUT - step_row());
            store_gathered<Threads, STREAMING>(y, first_output(), ring + STAGED, rows * W_OUT, thread());
        }
        ++step;
        row += StepRows;
        start = wrapped(start + FRESH_ROWS);
    }

    __device__ __forceinline__ void finish() const {}

    // first_output returns the index in the tensor of the step's first output. A strip whose outputs are gathered is as
    // wide as the output, so a step's outputs are contiguous.
    __device__ __forceinline__ int step_row() const { return row - threadIdx.y * ROWS; }
    __device__ __forceinline__ long long first_output() const { return output_at(step_row()); }
};

#endif
