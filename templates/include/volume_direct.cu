// volume_direct.cu: pools of volumes: each thread reduces VEC adjacent windows, row after row.
//
//   global -> registers: a row of the windows at a time, as vectors where rows are aligned;
//                        elements that neighbouring windows share come from the caches.
//   registers -> global: VEC outputs, as one vector where rows are aligned for it.
//
// Each window is read as a whole, so this kernel is for windows that do not overlap. A pool of one axis treats its row
// as a volume of one slice and one row. Each operator's own pool.cuh defines the reduction, and the final step from a
// reduced window to an output.
//
// Tunables:
//   threads: threads per block.
//   vec:     adjacent outputs per thread: wider accesses, but fewer threads.
//   unroll:  rows of a window in flight at once.
#include "pool.cuh"
#include "volume_windows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
volume_direct(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    pool_windows<Pool>(x, y, {EPILOGUE_ARGUMENTS});
}
