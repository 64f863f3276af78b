// conv2d of bf16 or fp16 on CUDA cores, for any problem: direct_conv.cuh has the idea and what the tunables trade.
#define TRANSPOSED 0
#include "one_slice.cuh"
#include "direct_conv.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    conv2d_direct_16bit(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                        Element* __restrict__ y) {
    direct_conv(x, weight, bias, y);
}
