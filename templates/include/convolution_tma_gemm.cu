// Convolutions of up to three axes on Hopper's warpgroup products (sm_90a), of one tap and stride 1. The idea
// is in mapped_conv.cuh, or for bf16 and fp16 in mapped_conv_16bit.cuh, which stands for it then; slab_gemm.cuh
// has the mainloop and what the tunables trade.
#include "mapped_conv.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_gemm(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, const Element* __restrict__ bias,
                         Stored* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    mapped_gemm<Work, Boxes>(memory, {&rows, &columns}, {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_gemm_sum(const float* partial_sums, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
