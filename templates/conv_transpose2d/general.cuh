// conv_transpose2d, general: output element i of any problem, in the math mode of the
// tuned kernel.
#ifndef SIZES
#define SIZES long long c, h, w, c_out, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, h_out, w_out, c_group, c_out_group
#endif
#include "convolution.cuh"

struct Sizes {
    SIZES;
    static constexpr long long d = 1, d_out = 1, kernel_d = 1, stride_d = 1, padding_d = 0, dilation_d = 1;
};

__device__ Element conv_transpose2d_general(const Element* x, const Element* weight, const Element* bias, const Sizes& s, long long i) {
    return convolution_plain<float, true>(x, weight, bias, s, i);
}
