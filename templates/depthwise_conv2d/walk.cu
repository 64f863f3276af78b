// depthwise_conv2d, walk: every thread walks down its own few columns of outputs.
//
// Each channel has its own small kernel, and sums do not combine channels, so an input takes part in only KERNEL_H *
// KERNEL_W multiplications. Memory bandwidth is the limit if every row is loaded once and kept in registers for all
// outputs that need it.
//
//   global -> shared:    the channel's weights.
//   global -> registers: a span of one input row, through the L1.
//   registers:           the row times each kernel row that applies to it, added
//                        to the sums of the outputs below.
//   registers -> global: each output as soon as its last row is done; or, when
//                        GATHER is set, through shared memory: a tile as wide as
//                        the output is one flat run of the tensor.
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns.
//   rows:             output rows per thread and step: with more, fewer rows are loaded
//                     twice; with fewer, more threads fill the chip.
//   steps:            steps of ROWS rows per tile: more steps share all but a few rows,
//                     fewer leave more blocks to fill the chip; with several, the
//                     next step's rows are held in registers.
//   vec:              output columns per thread: more reuse in registers and
//                     wider accesses, fewer threads; on rows of odd width, also
//                     stores with gaps.
//   gather:           whether outputs go through shared memory, which
//                     takes a barrier but avoids narrow stores to rows of odd width.
//   streaming:        whether stores are streaming, which leaves the L2 to the halo rows.
#include "depthwise.cuh"
#include "walk.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
depthwise_conv2d_walk(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                      Element* __restrict__ y EPILOGUE_PARAMETERS) {
    __shared__ float staged_weights[KERNEL_H * KERNEL_W];
    extern __shared__ __align__(16) float buffers[];
    Walk walk(x, buffers);
    const int channel = (int)(walk.tile.plane % C);
    Weights weights;
    weights.load<Walk::Threads>(staged_weights, weight, channel, Walk::thread());
    const float start = BIAS ? to_float(bias[channel]) : 0.0f;

    float sums[Walk::Windows][VEC];
    Outputs outputs = {{EPILOGUE_ARGUMENTS}, walk.tile.plane, walk.column};
    outputs.load(walk.row);
    walk.run(y, 0.0f, sums, [&](const float (&span)[SPAN], int i) {
        join_span(sums, span + LEAD, i, weights, start, [&](int r) {
            outputs.finish(sums[r], walk.row, r);
            walk.store_row(y, r, sums[r]);
        });
        if (STEPS > 1 && i == BAND - 1) outputs.load(walk.row + ROWS); // the next step's
    });
}
