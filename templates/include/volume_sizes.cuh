// volume_sizes.cuh: the sizes of 3-D sliding windows, for functions that work for any problem. The sizes are macros
// of op.yaml, or, in an exported PyTorch module, arguments at run time.
#pragma once
#include "layout.cuh"

#ifdef SIZES
struct Sizes {
    SIZES;
};
#else
struct Sizes {
    static constexpr long long c = C, channels_last = CHANNELS_LAST;
    static constexpr long long d = D, kernel_d = KERNEL_D, stride_d = STRIDE_D, padding_d = PADDING_D, dilation_d = DILATION_D, d_out = D_OUT;
    static constexpr long long h = H, kernel_h = KERNEL_H, stride_h = STRIDE_H, padding_h = PADDING_H, dilation_h = DILATION_H, h_out = H_OUT;
    static constexpr long long w = W, kernel_w = KERNEL_W, stride_w = STRIDE_W, padding_w = PADDING_W, dilation_w = DILATION_W, w_out = W_OUT;
#ifdef COUNT_INCLUDE_PAD // of averages
    static constexpr long long count_include_pad = COUNT_INCLUDE_PAD, divisor = DIVISOR;
#endif
};
#endif
