// max_pool2d, walk: every thread walks down its own few columns of outputs.
//
// A row of a window is reduced once and joined to all the windows of the
// thread that contain it, so that nothing but a span of one input row and the
// unfinished windows is alive. Neighbouring threads' spans overlap; the L1
// gives them the shared columns.
//
//   global -> registers  a span of one input row, through the L1
//   registers            maxima across the span, then down the rows
//   registers -> global  as each window ends; or, when GATHER is
//                        set, through shared memory as the flat run that a tile
//                        as wide as the output is in the tensor
//
// Tunables
//   block_x, block_y  threads along the row and down the columns
//   rows              output rows per thread and step: more load fewer rows twice,
//                     fewer leave more threads to fill the chip
//   steps             of ROWS rows per tile: more share all but a few rows, fewer
//                     leave more blocks to fill the chip; with several, the next
//                     step's rows are held in registers
//   vec               output columns per thread: more reuse in registers and
//                     wider accesses, fewer threads; on rows of odd width, also
//                     stores with gaps
//   gather            as above: shared memory and a barrier against narrow stores
//                     to rows of odd width
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
#define STEPS 1
#define GATHER 0
#define STREAMING 1
#define LOAD 4
#endif
#include "pooling.cuh"
#include "walk.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
max_pool2d_walk(const float* __restrict__ x, float* __restrict__ y) {
    extern __shared__ __align__(16) float buffers[];
    Walk walk(x, buffers);

    float kept[Walk::Windows][VEC];
    walk.run(y, Maximum::nothing(), kept, [&](const float (&span)[Walk::Span], int i) {
        join_span<Maximum>(kept, span + Walk::Lead, i, [&](int r) { walk.store_row(y, r, kept[r]); });
    });
}
