// plain.cuh: a separable convolution as its definition says, which all of its kernels share. A Sizes
// has the problem's sizes as members; sums are of type Sum.
#pragma once
#include "factor.cuh"
#include "taps.cuh"

struct Weights {
    const float *depthwise, *depthwise_bias, *pointwise, *pointwise_bias; // biases may be null
};

// depthwise_sum is a channel's sum at a place of the output, with `first` its image's channel 0.
template <class Sum, class Sizes>
__device__ __forceinline__ float depthwise_sum(const float* first, const Weights& weights, const Sizes& s, long long channel, long long row, long long column) {
    const float* const plane = first + channel * s.h * s.w;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);
    Sum total = weights.depthwise_bias ? weights.depthwise_bias[channel] : 0.0f;
    for (long long ky = down.begin; ky < down.end; ++ky)
        for (long long kx = across.begin; kx < across.end; ++kx)
            total += Sum(plane[(top + ky * s.dilation_h) * s.w + left + kx * s.dilation_w]) * Sum(weights.depthwise[(channel * s.kernel_h + ky) * s.kernel_w + kx]);
    return static_cast<float>(total);
}

// separable_plain gives output element i.
template <class Sum, class Sizes>
__device__ __forceinline__ float separable_plain(const float* x, const Weights& weights, const Sizes& s, long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, to = i / s.w_out / s.h_out % s.c_out, image = i / s.w_out / s.h_out / s.c_out;
    Sum total = weights.pointwise_bias ? weights.pointwise_bias[to] : 0.0f;
    for (long long channel = 0; channel < s.c; ++channel)
        total += Sum(factor(weights.pointwise[to * s.c + channel])) *
                 Sum(factor(depthwise_sum<Sum>(x + image * s.c * s.h * s.w, weights, s, channel, row, column)));
    return static_cast<float>(total);
}
