// walk.cuh: threads that walk down their own columns of outputs, alone.
//
// A block of BLOCK_X x BLOCK_Y threads owns a tile of BLOCK_Y * ROWS rows and
// BLOCK_X * VEC columns of one plane's outputs, a thread ROWS x VEC of them. The
// threads share nothing but the L1; and, when GATHER is set, a buffer in which
// the tile's outputs meet to be stored as one run.
//
// Beside window.cuh's sizes these macros are defined: the tunables BLOCK_X,
// BLOCK_Y, ROWS, VEC, GATHER, STREAMING, and what follows from them: LOAD, the floats
// per load that a thread's span is aligned to.
#pragma once
#include "window.cuh"

struct Walk {
    static constexpr int Threads = BLOCK_X * BLOCK_Y;
    static constexpr int TileRows = BLOCK_Y * ROWS, TileColumns = BLOCK_X * VEC;
    static constexpr int Lead = lead(LOAD);
    static constexpr int Span = round_up(Lead + span_columns(VEC), LOAD);

    long long plane;
    int top;           // the tile's first row
    int row, column;   // of the thread's first output
    const float* from; // input plane
    float* gathered;

    __device__ __forceinline__ Walk(const float* x, float* shared) : gathered(shared) {
        const Tile tile = tile_of<TileRows, TileColumns>(blockIdx.x);
        plane = tile.plane;
        top = tile.row;
        row = tile.row + threadIdx.y * ROWS;
        column = tile.column + threadIdx.x * VEC;
        from = x + plane * ((long long)H * W);
    }

    // load_row fills `span` from row i of the thread's band, with `outside`
    // around the image. The windows of the thread's first output begin at
    // span[Lead].
    __device__ __forceinline__ void load_row(float (&span)[Span], int i, float outside) const {
        const int input_row = row * STRIDE_H - PADDING_H + i;
        if (row_inside(input_row)) {
            load_span<LOAD>(span, from + (long long)input_row * W, column * STRIDE_W - PADDING_W - Lead, outside);
        } else {
#pragma unroll
            for (int j = 0; j < Span; ++j) span[j] = outside;
        }
    }

    // store_row stores the thread's outputs of its row r, or puts them where
    // finish will find them.
    __device__ __forceinline__ void store_row(float* y, int r, const float (&outputs)[VEC]) const {
        if (row + r >= H_OUT) return;
        if (GATHER)
            gather<VEC>(gathered + gather_skew(first_output()) + (row + r - top) * W_OUT, column, outputs);
        else
            store_outputs<VEC, STREAMING>(y + (plane * H_OUT + row + r) * W_OUT, column, outputs);
    }

    // finish stores what was gathered; every thread of the block calls it.
    __device__ __forceinline__ void finish(float* y) const {
        if (!GATHER) return;
        __syncthreads();
        store_gathered<Threads, STREAMING>(y, first_output(), gathered, min((int)TileRows, H_OUT - top) * W_OUT,
                                           threadIdx.y * BLOCK_X + threadIdx.x);
    }

    // first_output is where the tile's outputs begin; a tile that gathers is as
    // wide as the output, and its outputs lie side by side.
    __device__ __forceinline__ long long first_output() const { return (plane * H_OUT + top) * W_OUT; }
};
