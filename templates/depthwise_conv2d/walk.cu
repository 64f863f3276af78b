// depthwise_conv2d, walk: each thread computes a few columns of outputs from top to bottom.
//
// Memory bandwidth is the limit if every input row is loaded once, and kept in registers for all outputs that need
// it.
//
// A thread multiplies each input row by all kernel rows that apply to it, and stores an output after its last row.
// The L1 serves columns that neighbouring threads share.
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns
//   rows:             output rows per thread and step
//   steps:            steps of ROWS rows per tile; with several steps, registers hold the next step's rows
//   vec:              output columns per thread
//   gather:           whether outputs are stored through shared memory, which avoids narrow stores to rows of odd width
//   streaming:        whether stores are streaming, so that input rows stay in the L2
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
