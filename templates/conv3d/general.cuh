// conv3d, general: output element i of any problem, in the math mode of the
// tuned kernel.
#ifndef SIZES
#define SIZES long long c, d, h, w, c_out, kernel_d, kernel_h, kernel_w, stride_d, stride_h, stride_w, padding_d, padding_h, padding_w, dilation_d, dilation_h, dilation_w, d_out, h_out, w_out, c_group, c_out_group
#endif
#include "convolution.cuh"

struct Sizes {
    SIZES;
};

__device__ Element conv3d_general(const Element* x, const Element* weight, const Element* bias, const Sizes& s, long long i) {
    return convolution_plain<float, false>(x, weight, bias, s, i);
}
