// conv_transpose1d on CUDA cores, for any problem: direct_conv.cuh has the idea and what the tunables trade.
#define TRANSPOSED 1
#include "one_row.cuh"
#include "direct_conv.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_transpose1d_direct(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
              Element* __restrict__ y) {
    direct_conv(x, weight, bias, y);
}
