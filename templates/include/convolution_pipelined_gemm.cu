// Convolutions (1D to 3D, transposed or not) with Hopper's wgmma (sm_90a). The data flow is explained in
// packed_conv.cuh, the mainloop and the tunables in slab_gemm.cuh.
#include "packed_conv.cuh"

extern "C" __global__ void __launch_bounds__(256)
    convolution_pipelined_gemm_pack(const Element* __restrict__ x, const Element* __restrict__ weight, float* scales,
                                    float* packed_x, float* packed_weight) {
    packed_conv_pack(x, weight, scales, packed_x, packed_weight);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_pipelined_gemm(const float* packed_x, const float* packed_weight, const float* scales,
                               const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                               Stored* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    packed_conv_gemm(packed_x, packed_weight, scales, {x, weight, bias, {TILE_EPILOGUE_ARGUMENTS}}, y, memory);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_pipelined_gemm_sum(const float* partial_sums, const Element* __restrict__ x, const Element* __restrict__ weight,
                                   const Element* __restrict__ bias, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const PlainConvolution<float, Epilogue> plain = {x, weight, bias, {EPILOGUE_ARGUMENTS}};
    sum_splits<Work::kMasked>(partial_sums, y, Work::outputs(), plain, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}

extern "C" __global__ void __launch_bounds__(512)
    convolution_pipelined_gemm_largest(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ scales) {
    find_largest_of_convolution(x, weight, scales);
}
