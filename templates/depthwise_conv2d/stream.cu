// depthwise_conv2d, stream: a block walks down a strip of the plane in a pipeline: the input rows of later steps are
// loaded while a step computes.
//
//   global -> shared:    the channel's weights; and whole input rows, by asynchronous
//                        copies of 16 bytes into a ring that keeps the halo of
//                        two steps; or, when COPY_ENGINE is set, by one bulk
//                        load per row, for all rows of the strip at once.
//   shared -> registers: every thread reads a span of each row once.
//   registers:           the row times each kernel row that applies to it, added
//                        to the sums of the outputs below.
//   registers -> global: each output as soon as its last row is done; or, when
//                        GATHER or COPY_ENGINE is set, through shared memory: the
//                        rows of a strip as wide as the output are one flat run
//                        of the tensor.
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns.
//   rows:             output rows per thread and step: more reuse of each row's
//                     products, larger steps.
//   vec:              output columns per thread: more reuse in registers and
//                     wider accesses, fewer threads.
//   steps:            steps per strip: more steps share more rows, fewer leave more blocks.
//   ahead:            pipeline stages beside the current one: more stages hide
//                     more latency and take more shared memory; with the copy
//                     engine, all steps are in flight.
//   gather:           whether outputs go through shared memory, which
//                     takes a barrier but avoids narrow stores to rows of odd width.
//   copy_engine:      bulk copies take no instructions of the threads and come in
//                     bursts, which suits the memory; but shared memory must hold
//                     the strip's rows and outputs, and rows must be aligned.
//   streaming:        whether stores are streaming, which leaves the L2 to the halo rows.
#include "depthwise.cuh"
#include "stream.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
depthwise_conv2d_stream(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                        float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float rows[]; // input rows, then gathered outputs
    __shared__ float staged_weights[KERNEL_H * KERNEL_W];
    Stream stream(x, rows, 0.0f);
    const int channel = (int)(stream.tile.plane % C);
    Weights weights;
    weights.load<Stream::Threads>(staged_weights, weight, channel, Stream::thread());
    const float start = BIAS ? bias[channel] : 0.0f;

    float sums[ROWS][VEC];
    Outputs outputs = {{EPILOGUE_ARGUMENTS}, stream.tile.plane, stream.column};
    outputs.load(stream.row);
    stream_rows(stream, y, [&](const float (&span)[SPAN], int i) {
        join_span(sums, span + LEAD, i, weights, start, [&](int r) {
            outputs.finish(sums[r], stream.row, r);
            stream.store_row(y, r, sums[r]);
        });
        if (i == BAND - 1) outputs.load(stream.row + Stream::StepRows); // the next step's
    });
}
