// Convolutions of up to three axes, transposed ones too, reference: one thread an output, added up in
// double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "convolution.cuh"

struct Sizes {
    static constexpr bool channels_last = CHANNELS_LAST;
    static constexpr long long c = C, c_out = C_OUT, c_group = C_GROUP, c_out_group = C_OUT_GROUP;
    static constexpr long long d = D, kernel_d = KERNEL_D, stride_d = STRIDE_D, padding_d = PADDING_D, dilation_d = DILATION_D, d_out = D_OUT;
    static constexpr long long h = H, kernel_h = KERNEL_H, stride_h = STRIDE_H, padding_h = PADDING_H, dilation_h = DILATION_H, h_out = H_OUT;
    static constexpr long long w = W, kernel_w = KERNEL_W, stride_w = STRIDE_W, padding_w = PADDING_W, dilation_w = DILATION_W, w_out = W_OUT;
};

extern "C" __global__ void convolution_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                                 const Element* __restrict__ bias, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)N * C_OUT * D_OUT * H_OUT * W_OUT)
        y[i] = convolution_plain<double, TRANSPOSED>(x, weight, BIAS ? bias : nullptr, Sizes(), i);
}
