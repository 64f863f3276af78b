// plane_stream.cu: 2-D pooling: a block computes a strip of the output from top to bottom, and loads the input rows
// of later steps while it computes the current step.
//
// Each operator's pool.cuh defines the reduction (maximum or average).
//
//   global -> shared:    input rows, by 16-byte asynchronous copies; or, with COPY_ENGINE, one bulk copy per row
//   shared -> registers: each thread loads the columns that its windows need, once per row
//   registers -> global: each output when its window ends, through shared memory if GATHER or COPY_ENGINE is set
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
