// conv1d on Hopper's warpgroup products (sm_90a), of input as it is: gathered_conv.cuh has
// the idea, slab_gemm.cuh the mainloop and what the tunables trade.
#include "one_row.cuh"
#include "gathered_conv.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv1d_gathered_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                         float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    gathered_conv(x, weight, bias, y, memory);
}

extern "C" __global__ void __launch_bounds__(256) conv1d_gathered_gemm_sum(const float* __restrict__ partial_sums, float* __restrict__ y) {
    sum_splits<Work::kOutputs>(partial_sums, y);
}
