// walk.cuh: threads that compute a few columns of outputs each, from top to bottom.
//
// A block of BLOCK_X x BLOCK_Y threads computes a tile that is BLOCK_X * VEC columns wide, in STEPS steps of BLOCK_Y
// * ROWS rows; a thread computes ROWS x VEC outputs per step. With GATHER, the outputs of a step are collected in
// shared memory, so that contiguous outputs are stored together.
//
// With several steps, unfinished windows stay in registers for the next step. The next step's rows are loaded before
// this step's outputs are stored.
//
// Other macros: a thread reads SPAN input columns per row, LEAD of which lie before its first window, and LOAD floats
// at a time. BAND is the number of input rows that ROWS output rows read. GATHERED is the number of floats of the
// buffer that collects a step's outputs.
//
//   Walk walk(x, shared);
//   float kept[Walk::Windows][VEC];             a thread's windows
//   walk.run(y, outside, kept, [&](const float (&span)[SPAN], int i) {
//       ... add input row i, whose columns are in span, to the windows in kept ...
//       walk.store_row(y, r, kept[r]);          when a window ends
//   });
#pragma once
#include "element_rows.cuh"
#include "guarded_span.cuh"
#include "plane_tiles.cuh"

struct Walk {
    static constexpr int Threads = BLOCK_X * BLOCK_Y;
    static constexpr int StepRows = BLOCK_Y * ROWS, TileColumns = BLOCK_X * VEC;
    static constexpr int Fresh = ROWS * STRIDE_H; // input rows that a step adds to the halo
    static constexpr int Unfinished = STEPS > 1 ? (HALO_ROWS + STRIDE_H - 1) / STRIDE_H : 0;
    static constexpr int Windows = ROWS + Unfinished;

    Tile tile;         // row: the first row of this step
    int row, column;   // of the thread's first output
    int step;
    const Element* from; // input plane
    float* gathered;

    __device__ __forceinline__ Walk(const Element* x, float* shared)
        : tile(tile_of(StepRows * STEPS, TileColumns)), row(tile.row + threadIdx.y * ROWS),
          column(tile.column + threadIdx.x * VEC), step(0), from(x + tile.plane * ((long long)H * W)),
          gathered(shared) {}

    static __device__ __forceinline__ int thread() { return threadIdx.y * BLOCK_X + threadIdx.x; }

    // load_row loads a thread's columns of input row i, with `outside` beyond the image; the thread's first window
    // begins at span[LEAD].
    __device__ __forceinline__ void load_row(float (&span)[SPAN], int i, float outside) const {
        const int input_row = row * STRIDE_H - PADDING_H + i, left = column * STRIDE_W - PADDING_W - LEAD;
        load_guarded_span<true>(span, from + (long long)input_row * W, left, left, row_inside(input_row), outside);
    }

    // run is the main loop: it loads the thread's rows, adds them to windows and stores the outputs.
    template <class Join>
    __device__ __forceinline__ void run(Element* y, float outside, float (&kept)[Windows][VEC], Join join) {
        constexpr int Before = STEPS > 1 ? HALO_ROWS : BAND;
#pragma unroll
        for (int i = 0; i < Before; ++i) {
            if (!row_is_used<Windows>(i)) continue;
            float span[SPAN];
            load_row(span, i, outside);
            join(span, i);
        }
        if constexpr (STEPS > 1) {
            float fetched[Fresh][SPAN];
            fetch(fetched, HALO_ROWS, outside);
            for (;; ++step) {
#pragma unroll
                for (int i = 0; i < Fresh; ++i)
                    if (row_is_used<Windows>(HALO_ROWS + i)) join(fetched[i], HALO_ROWS + i);
                const bool last = step + 1 == STEPS || row + ROWS >= H_OUT;
                if (!last) fetch(fetched, HALO_ROWS + Fresh, outside);
                finish(y);
                if (last) return;
#pragma unroll
                for (int r = 0; r < Unfinished; ++r)
#pragma unroll
                    for (int v = 0; v < VEC; ++v) kept[r][v] = kept[r + ROWS][v];
                tile.row += ROWS;
                row += ROWS;
            }
        }
        finish(y);
    }

    // fetch loads the input rows of the next step.
    __device__ __forceinline__ void fetch(float (&fetched)[Fresh][SPAN], int first, float outside) const {
#pragma unroll
        for (int i = 0; i < Fresh; ++i)
            if (row_is_used<Windows>(HALO_ROWS + i)) load_row(fetched[i], first + i, outside);
    }

    // store_row stores the thread's outputs of its row r, or writes them to shared memory for `finish` to store.
    __device__ __forceinline__ void store_row(Element* y, int r, const float (&outputs)[VEC]) const {
        if (row + r >= H_OUT) return;
        if (GATHER)
            gather<VEC>(buffer() + gather_skew(first_output()) + (threadIdx.y * ROWS + r) * W_OUT, column, outputs);
        else
            store_elements_of_row<VEC, STREAMING>(y + (tile.plane * H_OUT + row + r) * W_OUT, column, outputs);
    }

    // finish stores the outputs of a step from shared memory; every thread of the block calls it. finish alternates
    // between two buffers, so that one barrier per step is enough.
    __device__ __forceinline__ void finish(Element* y) const {
        if (!GATHER) return;
        __syncthreads();
        const int rows = min((int)StepRows, H_OUT - tile.row);
        store_gathered<Threads, STREAMING>(floats_of(y), first_output(), buffer(), rows * W_OUT, thread());
    }

    __device__ __forceinline__ float* buffer() const { return gathered + step % 2 * GATHERED; }

    // first_output returns the index in the tensor of the step's first output.
    __device__ __forceinline__ long long first_output() const { return (tile.plane * H_OUT + tile.row) * W_OUT; }
};
