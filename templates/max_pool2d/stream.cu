// max_pool2d, stream: a block walks down a strip of the plane while the rows of the
// steps to come are on their way.
//
//   global -> shared     whole input rows, 16 bytes an asynchronous copy, into
//                        a ring that keeps the rows that two steps share
//   shared -> registers  every thread reads a span of each row once
//   registers            maxima across the span, then down the rows
//   registers -> global  as each window ends; or, when GATHER is set, through
//                        shared memory as the flat run that the rows of a strip
//                        as wide as the output are in the tensor
//
// Tunables
//   block_x, block_y  threads along the row and down the columns
//   rows              output rows per thread and step: more reuse of each row's
//                     maxima, larger steps
//   vec               output columns per thread: more reuse in registers and
//                     wider accesses, fewer threads
//   steps             per strip: more share more rows, fewer leave more blocks
//   ahead             steps whose rows are on their way, for shared memory
//   gather            as above: a barrier and shared memory against narrow
//                     stores to rows of odd width
//   streaming         stores that leave the L2 to the input's shared rows
#ifndef N
#define N 32
#define C 64
#define H 512
#define W 512
#define KERNEL_H 4
#define KERNEL_W 4
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 1
#define PADDING_W 1
#define DILATION_H 1
#define DILATION_W 1
#define H_OUT 511
#define W_OUT 511
#endif
#ifndef BLOCK_X
#define BLOCK_X 128
#define BLOCK_Y 1
#define ROWS 8
#define VEC 4
#define STEPS 8
#define AHEAD 1
#define GATHER 0
#define STREAMING 1
#define LOAD 4
#define STAGE_LOAD 4
#define PITCH 516
#endif
#include "pooling.cuh"
#include "stream.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
max_pool2d_stream(const float* __restrict__ x, float* __restrict__ y) {
    extern __shared__ __align__(16) float ring[]; // the ring of input rows, then gathered outputs
    Stream stream(x, ring, Maximum::nothing());

    for (int step = 0; step < stream.steps; ++step) {
        stream.begin(step);
        float kept[ROWS][VEC];
#pragma unroll
        for (int i = 0; i < band_rows(ROWS); ++i) {
            if (!row_is_used<ROWS>(i)) continue;
            float span[Stream::Span], across[VEC];
            stream.load_row(span, i);
#pragma unroll
            for (int v = 0; v < VEC; ++v) across[v] = reduce_across<Maximum>(span + Stream::Lead + v * STRIDE_W);
            join_row<Maximum>(kept, i, across);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                if (ends_window(i, r)) stream.store_row(y, r, kept[r]);
        }
        stream.end(y);
    }
}
