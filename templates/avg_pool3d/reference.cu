// avg_pool3d, reference: one thread an output. The plain function of general.cuh
// computes it; the other kernels share nothing with that.
#include "general.cuh"

extern "C" __global__ void avg_pool3d_reference(const float* __restrict__ x, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * D_OUT * H_OUT * W_OUT) return;
    Sizes sizes = {};
    sizes.d = D, sizes.h = H, sizes.w = W;
    sizes.kernel_d = KERNEL_D, sizes.kernel_h = KERNEL_H, sizes.kernel_w = KERNEL_W;
    sizes.stride_d = STRIDE_D, sizes.stride_h = STRIDE_H, sizes.stride_w = STRIDE_W;
    sizes.padding_d = PADDING_D, sizes.padding_h = PADDING_H, sizes.padding_w = PADDING_W;
    sizes.count_include_pad = COUNT_INCLUDE_PAD, sizes.divisor_override = DIVISOR_OVERRIDE;
    sizes.d_out = D_OUT, sizes.h_out = H_OUT, sizes.w_out = W_OUT;
    y[i] = avg_pool3d_general(x, sizes, i);
}
