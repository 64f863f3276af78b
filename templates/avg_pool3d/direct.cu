// avg_pool3d, direct: each thread reduces VEC adjacent windows, row after row.
//
//   global -> registers  a row of the windows at a time, as vectors where rows are aligned;
//                        what neighbouring windows share comes from the caches
//   registers -> global  VEC outputs, as one vector where rows are aligned for it
//
// Each window is read as a whole, so this is the kernel for windows that do not overlap.
//
// Tunables
//   threads  per block
//   vec      adjacent outputs a thread: wider accesses, fewer threads
//   unroll   rows of a window in flight at once
#include "average_volume.cuh"
#include "volume_windows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
avg_pool3d_direct(const float* __restrict__ x, float* __restrict__ y) {
    pool_windows<Sum>(x, y, average_volume);
}
