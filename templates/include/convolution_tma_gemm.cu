// Convolutions of up to three axes on Hopper's warpgroup products (sm_90a), of one tap and stride 1. The idea
// is in mapped_conv.cuh, or for bf16 and fp16 in mapped_conv_16bit.cuh, which stands for it then; slab_gemm.cuh
// has the mainloop and what the tunables trade.
#include "mapped_conv.cuh"

extern "C" __global__ void __launch_bounds__(64)
    convolution_tma_gemm_map(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ maps) {
    map_conv(x, weight, maps);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_gemm(const float* __restrict__ maps, const Element* __restrict__ bias, Stored* __restrict__ y) {
    extern __shared__ __align__(1024) uint4 memory[];
    mapped_gemm<Work, Boxes>(memory, maps, bias, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_gemm_sum(const float* __restrict__ partial_sums, Element* __restrict__ y) {
    sum_splits(partial_sums, y, Work::outputs());
}
