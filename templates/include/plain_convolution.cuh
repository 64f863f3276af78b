// plain_convolution.cuh: computes one output by the definition of a convolution, for reference kernels, and for
// outputs that a tensor-core kernel got wrong by overflow (mended.cuh).
#pragma once
#include "convolution.cuh"

struct ProblemSizes {
    const bool channels_last = CHANNELS_LAST;
    const long long c = C, c_out = C_OUT, c_group = C_GROUP, c_out_group = C_OUT_GROUP;
    const long long d = D, kernel_d = KERNEL_D, stride_d = STRIDE_D, padding_d = PADDING_D, dilation_d = DILATION_D, d_out = D_OUT;
    const long long h = H, kernel_h = KERNEL_H, stride_h = STRIDE_H, padding_h = PADDING_H, dilation_h = DILATION_H, h_out = H_OUT;
    const long long w = W, kernel_w = KERNEL_W, stride_w = STRIDE_W, padding_w = PADDING_W, dilation_w = DILATION_W, w_out = W_OUT;
};

template <class Sum, class AnyEpilogue = NoEpilogue>
struct PlainConvolution {
    const Element *x, *weight, *bias;
    AnyEpilogue epilogue;
    __device__ __forceinline__ Element operator()(long long i) const {
        return convolution_plain<Sum, TRANSPOSED>(x, weight, BIAS ? bias : nullptr, ProblemSizes(), i, epilogue);
    }
};
