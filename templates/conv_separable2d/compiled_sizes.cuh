// compiled_sizes.cuh: the problem's sizes as compile-time constants, in a struct for plain.cuh.
#pragma once
#include "plain.cuh"

struct Sizes {
    static constexpr long long n = N, c = C, h = H, w = W, c_out = C_OUT, kernel_h = KERNEL_H, kernel_w = KERNEL_W, stride_h = STRIDE_H, stride_w = STRIDE_W,
                               padding_h = PADDING_H, padding_w = PADDING_W, dilation_h = DILATION_H, dilation_w = DILATION_W, h_out = H_OUT, w_out = W_OUT;
};

__device__ __forceinline__ Weights weights_of(const Element* depthwise, const Element* depthwise_bias, const Element* pointwise, const Element* pointwise_bias) {
    return {depthwise, BIAS ? depthwise_bias : nullptr, pointwise, BIAS ? pointwise_bias : nullptr};
}
