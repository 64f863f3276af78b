// volume_stream.cu: 3-D pooling as in volume_walk.cu, but the next slices are copied to shared memory while a block
// reduces the current slice.
//
// Each operator's pool.cuh defines the reduction (maximum or average).
//
// Tunables:
//   block_x, block_y: threads along the rows and down the columns
//   rows, vec:        output rows and columns per thread
//   slices:           output slices per block
//   ahead:            slices in flight
//   gather:           whether outputs are stored through shared memory, which avoids narrow stores to rows of odd width
//   copy_engine:      whether slices are loaded by bulk copies instead of asynchronous copies of the threads
//   streaming:        whether stores are streaming, so that input rows stay in the L2
#include "pool.cuh"
#include "staged_slices.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
volume_stream(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[]; // gathered outputs, then slices
    pool_volume<PipelinedSlices, Pool>(x, y, buffers, {EPILOGUE_ARGUMENTS});
}
