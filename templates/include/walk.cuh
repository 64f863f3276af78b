// walk.cuh: threads that walk down their own columns of outputs.
//
// A block of BLOCK_X x BLOCK_Y threads computes a tile of one plane's outputs, BLOCK_X * VEC columns wide. The block
// walks down STEPS steps of BLOCK_Y * ROWS rows; a thread computes ROWS x VEC outputs per step. The threads of a block
// share only the L1 and, when GATHER is set, a buffer that collects the outputs of a step, to store them as one run.
//
// With several steps, windows that a step leaves unfinished stay in registers for the next step. The next step's rows
// are loaded before this step's outputs are stored: no row is loaded twice, and loads are always in flight.
//
//   Walk walk(x, shared);
//   float kept[Walk::Windows][VEC];             a thread's windows
//   walk.run(y, outside, kept, [&](const float (&span)[SPAN], int i) {
//       ... add the span of the band's row i to the windows in kept ...
//       walk.store_row(y, r, kept[r]);          when a window ends
//   });
//
// Macros used besides those of window.cuh are the tunables BLOCK_X, BLOCK_Y, ROWS, VEC, STEPS (1 unless BLOCK_Y is 1),
// GATHER, STREAMING, and values that op.yaml derives from them. A span has SPAN columns, LEAD of which lie before the
// thread's first window; a thread loads LOAD floats of a span at a time, and spans begin at multiples of LOAD. BAND is
// the number of input rows that ROWS output rows read. GATHERED is the number of floats, a multiple of four, of a
// buffer that holds a step's outputs at any offset from 16-byte alignment.
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

    // load_row fills `span` from row i of the thread's band, and with `outside` beyond the image. The window of the
    // thread's first output begins at span[LEAD].
    __device__ __forceinline__ void load_row(float (&span)[SPAN], int i, float outside) const {
        const int input_row = row * STRIDE_H - PADDING_H + i, left = column * STRIDE_W - PADDING_W - LEAD;
        load_guarded_span<true>(span, from + (long long)input_row * W, left, left, row_inside(input_row), outside);
    }

    // run is the mainloop: it loads the thread's rows, adds them to windows and stores the outputs.
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

    // fetch loads the rows that a step adds, from the band's row `first` on.
    __device__ __forceinline__ void fetch(float (&fetched)[Fresh][SPAN], int first, float outside) const {
#pragma unroll
        for (int i = 0; i < Fresh; ++i)
            if (row_is_used<Windows>(HALO_ROWS + i)) load_row(fetched[i], first + i, outside);
    }

    // store_row stores the thread's outputs of its row r, or gathers them in shared memory for `finish` to store.
    __device__ __forceinline__ void store_row(Element* y, int r, const float (&outputs)[VEC]) const {
        if (row + r >= H_OUT) return;
        if (GATHER)
            gather<VEC>(buffer() + gather_skew(first_output()) + (threadIdx.y * ROWS + r) * W_OUT, column, outputs);
        else
            store_elements_of_row<VEC, STREAMING>(y + (tile.plane * H_OUT + row + r) * W_OUT, column, outputs);
    }

    // finish stores the gathered outputs of a step; every thread of the block calls it. Outputs are gathered in two
    // buffers in turn, so that one barrier per step is enough.
    __device__ __forceinline__ void finish(Element* y) const {
        if (!GATHER) return;
        __syncthreads();
        const int rows = min((int)StepRows, H_OUT - tile.row);
        store_gathered<Threads, STREAMING>(floats_of(y), first_output(), buffer(), rows * W_OUT, thread());
    }

    __device__ __forceinline__ float* buffer() const { return gathered + step % 2 * GATHERED; }

    // first_output returns the index in the tensor of the step's first output. A tile whose outputs are gathered is as
    // wide as the output, so its outputs are contiguous.
    __device__ __forceinline__ long long first_output() const { return (tile.plane * H_OUT + tile.row) * W_OUT; }
};
