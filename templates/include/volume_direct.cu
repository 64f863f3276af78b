// volume_direct.cu: 3-D pooling: each thread reduces the windows of VEC adjacent outputs, row after row.
//
// Each window is read as a whole, so this kernel is for windows that do not overlap. 1-D pooling is treated as 3-D
// pooling of a single slice and row. Each operator's pool.cuh defines the reduction (maximum or average).
//
// Tunables:
//   threads: threads per block
//   vec:     adjacent outputs per thread
//   unroll:  rows of a window in flight at once
#include "pool.cuh"
#include "volume_windows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
volume_direct(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    pool_windows<Pool>(x, y, {EPILOGUE_ARGUMENTS});
}
