// plane_walk.cu: pools of planes, walk: every thread walks down its own few columns of outputs.
//
// A row of a window is reduced once and joined to all the windows of the thread that contain it.
// So registers hold only a span of one input row and the unfinished windows. Neighbouring threads'
// spans overlap; the shared columns come from the L1.
//
// pool.cuh is the operator's own: the reduction, and what is made of it in the end.
//
//   global -> registers  a span of one input row, through the L1
//   registers            sums or maxima across the span, then down the rows
//   registers -> global  as each window ends; or, when GATHER is
//                        set, through shared memory as the flat run that a tile
//                        as wide as the output is in the tensor
//
// Tunables
//   block_x, block_y  threads along the row and down the columns; beyond a row narrower
//                     than a warp, threads are idle: fewer along it leave fewer so
//   rows              output rows per thread and step: more load fewer rows twice,
//                     fewer leave more threads to fill the chip
//   steps             of ROWS rows per tile: more share all but a few rows, fewer
//                     leave more blocks to fill the chip; with several, the next
//                     step's rows are held in registers
//   vec               output columns per thread: more reuse in registers and
//                     wider accesses, fewer threads; on rows of odd width, also
//                     stores with gaps
//   gather            as above: shared memory and a barrier, in place of narrow
//                     stores to rows of odd width
//   streaming         stores that leave the L2 to the input's halo rows
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
