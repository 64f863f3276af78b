// depthwise_conv2d, stream: a block computes a strip of the output from top to bottom, and loads the input rows of
// later steps while it computes the current step.
//
//   global -> shared:    the weights, and input rows by asynchronous copies; or, with COPY_ENGINE, by bulk copies
//   shared -> registers: each thread loads the columns that its windows need, once per row
//   registers:           each input row is multiplied by all kernel rows that apply to it
//   registers -> global: each output after its last row, through shared memory if GATHER or COPY_ENGINE is set
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns
//   rows:             output rows per thread and step
//   vec:              output columns per thread
//   steps:            steps per strip
//   ahead:            pipeline stages beside the current one
//   gather:           whether outputs are stored through shared memory, which avoids narrow stores to rows of odd width
//   copy_engine:      whether rows are loaded by bulk copies, which need aligned rows and more shared memory
//   streaming:        whether stores are streaming, so that input rows stay in the L2
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
