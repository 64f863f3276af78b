// volume_direct.cu: pools of volumes, direct: each thread reduces VEC adjacent windows, row after row.
//
//   global -> registers  a row of the windows at a time, as vectors where rows are aligned;
//                        what neighbouring windows share comes from the caches
//   registers -> global  VEC outputs, as one vector where rows are aligned for it
//
// Each window is read as a whole, so this is the kernel for windows that do not overlap.
// A row, of one axis, is a volume of one slice and one row. pool.cuh is the operator's own: the
// reduction, and what is made of it in the end.
//
// Tunables
//   threads  per block
//   vec      adjacent outputs a thread: wider accesses, fewer threads
//   unroll   rows of a window in flight at once
#include "pool.cuh"
#include "volume_windows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
volume_direct(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    pool_windows<Pool>(x, y, {EPILOGUE_ARGUMENTS});
}
