// Convolutions of up to three axes, transposed ones too, on Hopper's warpgroup products (sm_90a), of an input
// that is not packed: boxed_conv.cuh has the idea, slab_gemm.cuh the mainloop and what the tunables trade.
// For few channels stem_steps.cuh stands for channel_steps.cuh.
#include "channel_steps.cuh"

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_conv_pack(const float* __restrict__ weight, float* __restrict__ packed_weight) {
    boxed_conv_pack<Steps>(weight, packed_weight);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_conv(const __grid_constant__ TensorMap input, const float* packed_weight, const float* __restrict__ x,
                         const float* __restrict__ weight, const float* __restrict__ bias,
                         float* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    boxed_conv<Steps>(memory, &input, packed_weight, {x, weight, bias, {TILE_EPILOGUE_ARGUMENTS}}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_conv_sum(const float* partial_sums, const float* __restrict__ x, const float* __restrict__ weight,
                             const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    const PlainConvolution<float, Epilogue> plain = {x, weight, bias, {EPILOGUE_ARGUMENTS}};
    sum_splits<Work::kMasked>(partial_sums, y, Work::outputs(), plain, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
