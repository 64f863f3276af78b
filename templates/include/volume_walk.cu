// volume_walk.cu: pools of volumes, walk: every thread walks through the slices with a few windows of each.
//
// A window is the sum, or the maximum, of its slices' parts, and neighbouring windows share slices: each
// slice's part is reduced once and joined to all the windows that contain it. Those that are
// not finished stay in registers, so that no slice is read twice; what neighbouring threads
// share of a slice comes from the L1.
//
// pool.cuh is the operator's own: the reduction, and what is made of it in the end.
//
//   global -> registers  spans of a slice's rows, through the L1
//   registers            sums or maxima across the span, down the rows, then along the depth
//   registers -> global  as each window ends; or, when GATHER is set, through shared memory as
//                        the flat run that whole rows are in the tensor
//
// Tunables
//   block_x, block_y  threads along the rows and down the columns
//   rows, vec         output rows and columns a thread: more share more of a slice in
//                     registers, fewer leave more threads to hide loads
//   slices            output slices a block walks through: more read fewer slices twice, fewer
//                     leave more blocks to fill the chip
//   gather            as above: a barrier and shared memory, in place of narrow stores to
//                     rows of odd width
//   blocks_per_sm     makes the compiler use few enough registers for that many
//   streaming         stores that leave the L2 to the input's halo rows
#include "pool.cuh"
#include "volume_pool.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, BLOCKS_PER_SM)
volume_walk(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[]; // gathered outputs
    pool_volume<CachedSlices, Pool>(x, y, buffers, {EPILOGUE_ARGUMENTS});
}
