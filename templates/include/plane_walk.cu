// plane_walk.cu: 2-D pooling: each thread computes a few columns of outputs from top to bottom.
//
// A thread reduces each input row once and adds the result to all of its windows that contain the row. Registers hold
// only the current input row and the unfinished windows. The L1 serves columns that neighbouring threads share.
//
// Each operator's pool.cuh defines the reduction (maximum or average).
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns
//   rows:             output rows per thread and step
//   steps:            steps of ROWS rows per tile; with several steps, registers hold the next step's rows
//   vec:              output columns per thread
//   gather:           whether outputs are stored through shared memory, which avoids narrow stores to rows of odd width
//   streaming:        whether stores are streaming, so that input rows stay in the L2
#include "pool.cuh"
#include "walk.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
plane_walk(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[];
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    Walk walk(x, buffers);

    float kept[Walk::Windows][VEC];
    walk.run(y, Pool::nothing(), kept, [&](const float (&span)[SPAN], int i) {
        join_span<Pool>(kept, span + LEAD, i, [&](int r) {
            finish_row<Pool>(kept[r], epilogue, walk.tile.plane, 0, walk.row + r, walk.column);
            walk.store_row(y, r, kept[r]);
        });
    });
}
