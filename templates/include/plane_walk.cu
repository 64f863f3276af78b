// plane_walk.cu: pools of planes: every thread walks down its own few columns of outputs.
//
// A row of a window is reduced once and added to all windows of the thread that contain it. Registers hold only a span
// of one input row and the unfinished windows. The spans of neighbouring threads overlap; the shared columns come from
// the L1.
//
// Each operator's own pool.cuh defines the reduction, and the final step from a reduced window to an output.
//
//   global -> registers: a span of one input row, through the L1.
//   registers:           sums or maxima across the span, then down the rows.
//   registers -> global: each output as soon as its window ends; or, when GATHER
//                        is set, through shared memory: a tile as wide as the
//                        output is one flat run of the tensor.
//
// Tunables:
//   block_x, block_y: threads along the row and down the columns; threads beyond the
//                     end of a row are idle, so block_x should fit narrow rows.
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
