// conv_transpose1d, reference: one thread an output, added up in double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "convolution.cuh"

struct Sizes {
    static constexpr long long c = C, w = W, c_out = C_OUT, kernel_w = KERNEL_W, stride_w = STRIDE_W, padding_w = PADDING_W,
        dilation_w = DILATION_W, w_out = W_OUT, c_group = C_GROUP, c_out_group = C_OUT_GROUP;
    static constexpr long long d = 1, d_out = 1, kernel_d = 1, stride_d = 1, padding_d = 0, dilation_d = 1, h = 1, h_out = 1, kernel_h = 1, stride_h = 1, padding_h = 0, dilation_h = 1;
};

extern "C" __global__ void conv_transpose1d_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                        const Element* __restrict__ bias, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)N * C_OUT * W_OUT)
        y[i] = convolution_plain<double, true>(x, weight, BIAS ? bias : nullptr, Sizes(), i);
}
