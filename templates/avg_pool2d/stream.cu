// avg_pool2d, stream: a block walks down a strip of the plane while the rows of the
// steps to come are on their way.
//
//   global -> shared     whole input rows: 16 bytes an asynchronous copy, into
//                        a ring that keeps the rows that two steps share; or,
//                        when COPY_ENGINE is set, a row a bulk load, all of the
//                        strip at once
//   shared -> registers  every thread reads a span of each row once
//   registers            sums across the span, then down the rows
//   registers -> global  as each window ends; or, when GATHER or
//                        COPY_ENGINE is set, through shared memory as the flat
//                        run that the rows of a strip as wide as the output are
//                        in the tensor
//
// Tunables
//   block_x, block_y  threads along the row and down the columns
//   rows              output rows per thread and step: more reuse of each row's
//                     sums, larger steps
//   vec               output columns per thread: more reuse in registers and
//                     wider accesses, fewer threads
//   steps             per strip: more share more rows, fewer leave more blocks
//   ahead             steps whose rows are on their way, for shared memory; all of
//                     them with the copy engine
//   gather            as above: a barrier and shared memory against narrow
//                     stores to rows of odd width
//   copy_engine       bulk copies in and out cost the threads nothing and come in
//                     bursts, which suits the memory; but shared memory must hold
//                     the strip's rows and outputs, and a run of rows be aligned
//   streaming         stores that leave the L2 to the input's shared rows
#ifndef N
#define N 16
#define C 64
#define H 2048
#define W 2048
#define KERNEL_H 11
#define KERNEL_W 11
#define STRIDE_H 11
#define STRIDE_W 11
#define PADDING_H 0
#define PADDING_W 0
#define CEIL_MODE 0
#define COUNT_INCLUDE_PAD 1
#define H_OUT 186
#define W_OUT 186
#endif
#define DILATION_H 1
#define DILATION_W 1
#ifndef BLOCK_X
#define BLOCK_X 128
#define BLOCK_Y 1
#define ROWS 8
#define VEC 4
#define STEPS 8
#define AHEAD 1
#define GATHER 0
#define COPY_ENGINE 0
#define STREAMING 1
#define LOAD 4
#define STAGE_LOAD 4
#define PITCH 516
#endif
#include "average.cuh"
#include "pooling.cuh"
#include "stream.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
avg_pool2d_stream(const float* __restrict__ x, float* __restrict__ y) {
    extern __shared__ __align__(16) float rows[]; // input rows, then gathered outputs
    Stream stream(x, rows, Sum::nothing());

    float kept[ROWS][VEC];
    stream_rows(stream, y, [&](const float (&span)[Stream::Span], int i) {
        join_span<Sum>(kept, span + Stream::Lead, i, [&](int r) {
            average_row(kept[r], stream.row + r, stream.column);
            stream.store_row(y, r, kept[r]);
        });
    });
}
