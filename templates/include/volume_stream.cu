// volume_stream.cu: pools of volumes as in volume_walk.cu, in a pipeline: a block's rows of the next slices are copied
// to shared memory while it reduces the current slice.
//
// Each operator's own pool.cuh defines the reduction, and the final step from a reduced window to an output.
//
//   global -> shared:    whole rows of a slice, which are one run of the tensor: by asynchronous
//                        copies of 16 bytes or, when COPY_ENGINE is set, one bulk load.
//   shared -> registers: spans of a slice's rows.
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
//   ahead:            slices in flight: more hide more latency, but take more shared memory.
//   gather:           whether outputs go through shared memory, which takes a
//                     barrier but avoids narrow stores to rows of odd width.
//   copy_engine:      whether bulk loads are used, which take no instructions of the threads.
//   streaming:        whether stores are streaming, which leaves the L2 to the halo rows.
#include "pool.cuh"
#include "staged_slices.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
volume_stream(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[]; // gathered outputs, then slices
    pool_volume<PipelinedSlices, Pool>(x, y, buffers, {EPILOGUE_ARGUMENTS});
}
