// copy_stream.cuh: the variant of stream.cuh whose threads load input rows by cp.async, STAGE_LOAD floats at a time.
// With GATHER, threads collect outputs in shared memory before they store them contiguously.
//
// Shared memory holds a ring buffer of input rows, which are requested AHEAD steps before they are needed.
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
    int start;         // row of the ring with the step's first input row

    __device__ __forceinline__ CopyStream(const float* x, float* shared, float outside)
        : from(x + tile.plane * ((long long)H * W)), ring(shared), outside(outside), start(0) {
        request(0, 0, HALO_ROWS + FRESH_ROWS);
#pragma unroll
        for (int step = 1; step < AHEAD; ++step) request(step, HALO_ROWS + step * FRESH_ROWS, FRESH_ROWS);
    }

    // request starts copying `count` input rows to the ring buffer, from row `first` of the block's input on. After the
    // last step, request only commits an empty group, so that waiting needs no special case.
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

    __device__ __forceinline__ void begin() {
        async_copy_wait<AHEAD - 1>();
        __syncthreads();
        request(step + AHEAD, HALO_ROWS + (step + AHEAD) * FRESH_ROWS, FRESH_ROWS);
    }

    __device__ __forceinline__ void load_row(float (&span)[SPAN], int i) const {
        load_span_of(span, ring + wrapped(start + threadIdx.y * (ROWS * STRIDE_H) + i) * PITCH);
    }

    // store_row stores the outputs of the thread's row r, or collects them in shared memory with GATHER.
    __device__ __forceinline__ void store_row(float* y, int r, const float (&outputs)[VEC]) const {
        if (row + r >= H_OUT) return;
        if (GATHER)
            gather<VEC>(ring + STAGED + gather_skew(first_output()) + (threadIdx.y * ROWS + r) * W_OUT, column, outputs);
        else
            store_elements_of_row<VEC, STREAMING>(y + output_at(row + r), column, outputs);
    }

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

    // first_output returns the index of the step's first output in the output tensor.
    __device__ __forceinline__ int step_row() const { return row - threadIdx.y * ROWS; }
    __device__ __forceinline__ long long first_output() const { return output_at(step_row()); }
};

#endif
