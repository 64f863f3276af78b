// volume_walk.cu: pools of volumes: every thread walks through the slices with a few windows of each.
//
// A window is the sum, or the maximum, of its slices' parts, and neighbouring windows share slices: each slice's part
// is reduced once and added to all windows that contain it. Unfinished windows stay in registers, so that no slice is
// read twice; elements that neighbouring threads share come from the L1.
//
// Each operator's own pool.cuh defines the reduction, and the final step from a reduced window to an output.
//
//   global -> registers: spans of a slice's rows, through the L1.
//   registers:           sums or maxima across the span, down the rows, then along the depth.
//   registers -> global: each output as soon as its window ends; or, when GATHER is set, through
//                        shared memory, since whole rows are one flat run of the tensor.
//
// Tunables:
//   block_x, block_y: threads along the rows and down the columns.
//   rows, vec:        output rows and columns per thread: more share more of a slice in
//                     registers, fewer leave more threads to hide latency.
//   slices:           output slices that a block walks through: with more, fewer slices are
//                     read twice; with fewer, more blocks fill the chip.
//   gather:           whether outputs go through shared memory, which takes a
//                     barrier but avoids narrow stores to rows of odd width.
//   blocks_per_sm:    makes the compiler use few enough registers for that many blocks.
//   streaming:        whether stores are streaming, which leaves the L2 to the halo rows.
#include "pool.cuh"
#include "volume_pool.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, BLOCKS_PER_SM)
volume_walk(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[]; // gathered outputs
    pool_volume<CachedSlices, Pool>(x, y, buffers, {EPILOGUE_ARGUMENTS});
}
