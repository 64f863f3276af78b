// plane_stream.cu: pools of planes: a block walks down a strip of the plane in a pipeline. The input rows of later
// steps are loaded while a step computes.
//
// Each operator's own pool.cuh defines the reduction, and the final step from a reduced window to an output.
//
//   global -> shared:    whole input rows, by asynchronous copies of 16 bytes
//                        into a ring that keeps the halo of two steps; or,
//                        when COPY_ENGINE is set, by one bulk load per row,
//                        for all rows of the strip at once.
//   shared -> registers: every thread reads a span of each row once.
//   registers:           sums or maxima across the span, then down the rows.
//   registers -> global: each output as soon as its window ends; or, when GATHER
//                        or COPY_ENGINE is set, through shared memory: the rows
//                        of a strip as wide as the output are one flat run of
//                        the tensor.
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns.
//   rows:             output rows per thread and step: more reuse of each row's
//                     sums or maxima, larger steps.
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
#include "pool.cuh"
#include "stream.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
plane_stream(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float rows[]; // input rows, then gathered outputs
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    Stream stream(x, rows, Pool::nothing());

    float kept[ROWS][VEC];
    stream_rows(stream, y, [&](const float (&span)[SPAN], int i) {
        join_span<Pool>(kept, span + LEAD, i, [&](int r) {
            finish_row<Pool>(kept[r], epilogue, stream.tile.plane, 0, stream.row + r, stream.column);
            stream.store_row(y, r, kept[r]);
        });
    });
}
