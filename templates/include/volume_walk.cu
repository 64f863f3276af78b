// volume_walk.cu: 3-D pooling: each thread goes through the input slices and reduces a few windows.
//
// Each input slice is reduced once, and the result is added to all windows that contain the slice. Unfinished windows
// stay in registers, so that no slice is read twice. The L1 serves elements that neighbouring threads share.
//
// Each operator's pool.cuh defines the reduction (maximum or average).
//
// Tunables:
//   block_x, block_y: threads along the rows and down the columns
//   rows, vec:        output rows and columns per thread
//   slices:           output slices per block
//   gather:           whether outputs are stored through shared memory, which avoids narrow stores to rows of odd width
//   blocks_per_sm:    blocks per multiprocessor for which the compiler limits registers
//   streaming:        whether stores are streaming, so that input rows stay in the L2
#include "pool.cuh"
#include "volume_pool.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, BLOCKS_PER_SM)
volume_walk(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float buffers[]; // gathered outputs
    pool_volume<CachedSlices, Pool>(x, y, buffers, {EPILOGUE_ARGUMENTS});
}
