// volume_stream.cu: pools of volumes, stream: walk, in a pipeline: a block's rows of the next slices come to shared
// memory while it reduces one.
//
// pool.cuh is the operator's own: the reduction, and what is made of it in the end.
//
//   global -> shared     whole rows of a slice, which are one run of the tensor: 16 bytes an
//                        asynchronous copy or, when COPY_ENGINE is set, one bulk load
//   shared -> registers  spans of its rows
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
//   ahead             slices on their way: more hide more latency and take more shared memory
//   gather            as above: a barrier and shared memory, in place of narrow stores to
//                     rows of odd width
//   copy_engine       bulk loads cost the threads nothing
//   streaming         stores that leave the L2 to the input's halo rows
#include "pool.cuh"
#include "staged_slices.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
volume_stream(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[]; // gathered outputs, then slices
    pool_volume<PipelinedSlices, Pool>(x, y, buffers, {EPILOGUE_ARGUMENTS});
}
