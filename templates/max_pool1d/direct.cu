// max_pool1d, direct: each thread takes the maxima of VEC adjacent windows.
//
//   global -> registers  the windows' inputs, as vectors where rows are aligned for it; what
//                        neighbouring threads share comes from the L1
//   registers -> global  VEC outputs, as one vector where rows are aligned for it
//
// Tunables
//   threads  per block
//   vec      adjacent outputs a thread: wider accesses and windows that share loads, but
//            threads of a warp read further apart
#define UNROLL 1 // windows of one row
#include "volume_windows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
max_pool1d_direct(const float* __restrict__ x, float* __restrict__ y) {
    pool_windows<Maximum>(x, y, [](float maximum, long long, long long, long long) { return maximum; });
}
