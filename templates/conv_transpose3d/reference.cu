// conv_transpose3d, reference: one thread an output, added up in double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "convolution.cuh"

struct Sizes {
    static constexpr long long c = C, d = D, h = H, w = W, c_out = C_OUT, kernel_d = KERNEL_D, kernel_h = KERNEL_H, kernel_w = KERNEL_W,
        stride_d = STRIDE_D, stride_h = STRIDE_H, stride_w = STRIDE_W, padding_d = PADDING_D, padding_h = PADDING_H,
        padding_w = PADDING_W, dilation_d = DILATION_D, dilation_h = DILATION_H, dilation_w = DILATION_W,
        d_out = D_OUT, h_out = H_OUT, w_out = W_OUT, c_group = C_GROUP, c_out_group = C_OUT_GROUP;
};

extern "C" __global__ void conv_transpose3d_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                        const Element* __restrict__ bias, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)N * C_OUT * D_OUT * H_OUT * W_OUT)
        y[i] = convolution_plain<double, true>(x, weight, BIAS ? bias : nullptr, Sizes(), i);
}
