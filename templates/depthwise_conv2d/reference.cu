// depthwise_conv2d, reference: one thread per output, with sums in double.
#include "general.cuh"

extern "C" __global__ void depthwise_conv2d_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                                      const Element* __restrict__ bias, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * H_OUT * W_OUT) return;
    const Sizes sizes = {C, H, W, KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W,
                         PADDING_H, PADDING_W, DILATION_H, DILATION_W, H_OUT, W_OUT, CHANNELS_LAST};
    y[i] = depthwise_plain<double>(x, weight, bias, sizes, i, {EPILOGUE_ARGUMENTS});
}
