// conv_transpose3d on Hopper's warpgroup products, for any problem (sm_90a): packed_conv.cuh has
// the idea and the way of the data, slab_gemm.cuh the mainloop and what the tunables trade.
#define TRANSPOSED 1
#define FOLD_H 0
#define FOLD_W 0
#define PERIOD_D 1
#define PHASES_D 1
#define PERIOD_H 1
#define PHASES_H 1
#define PERIOD_W 1
#define PHASES_W 1
#include "packed_conv.cuh"

extern "C" __global__ void __launch_bounds__(512)
    conv_transpose3d_pipelined_gemm_largest(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ scales) {
    packed_conv_largest(x, weight, scales);
}

extern "C" __global__ void __launch_bounds__(256)
    conv_transpose3d_pipelined_gemm_pack(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ scales,
                                         float* __restrict__ packed_x, float* __restrict__ packed_weight) {
    packed_conv_pack(x, weight, scales, packed_x, packed_weight);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv_transpose3d_pipelined_gemm(const float* __restrict__ packed_x, const float* __restrict__ packed_weight, const float* __restrict__ scales,
                                    const Element* __restrict__ bias, Stored* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    packed_conv_gemm(packed_x, packed_weight, {bias, scales}, y, memory);
}

extern "C" __global__ void __launch_bounds__(256) conv_transpose3d_pipelined_gemm_sum(const float* __restrict__ partial_sums, Element* __restrict__ y) {
    sum_splits<Work::kOutputs>(partial_sums, y);
}
