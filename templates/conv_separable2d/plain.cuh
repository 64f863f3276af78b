// plain.cuh: a separable convolution computed by its definition, for the reference and other simple kernels; sums
// have the type Sum.
#pragma once
#include "epilogue.cuh"
#include "factor.cuh"
#include "taps.cuh"

struct Weights {
    const Element *depthwise, *depthwise_bias, *pointwise, *pointwise_bias; // the biases may be null
};

// depthwise_sum returns the depthwise sum of a channel at one output pixel, rounded to the tensors' type as in
// PyTorch.
template <class Sum, class Sizes>
__device__ __forceinline__ float depthwise_sum(const Element* first, const Weights& weights, const Sizes& s, long long channel, long long row, long long column) {
    const Element* const plane = first + channel * s.h * s.w;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);
    Sum total = weights.depthwise_bias ? to_float(weights.depthwise_bias[channel]) : 0.0f;
    for (long long ky = down.begin; ky < down.end; ++ky)
        for (long long kx = across.begin; kx < across.end; ++kx)
            total += Sum(to_float(plane[(top + ky * s.dilation_h) * s.w + left + kx * s.dilation_w])) * Sum(to_float(weights.depthwise[(channel * s.kernel_h + ky) * s.kernel_w + kx]));
    return to_float(from_float<Element>(static_cast<float>(total)));
}

template <class Sum, class Sizes>
__device__ __forceinline__ Element separable_plain(const Element* x, const Weights& weights, const Sizes& s, long long i,
                                                   const Epilogue& epilogue) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, to = i / s.w_out / s.h_out % s.c_out, image = i / s.w_out / s.h_out / s.c_out;
    Sum total = weights.pointwise_bias ? to_float(weights.pointwise_bias[to]) : 0.0f;
    for (long long channel = 0; channel < s.c; ++channel)
        total += Sum(factor(to_float(weights.pointwise[to * s.c + channel]))) *
                 Sum(factor(depthwise_sum<Sum>(x + image * s.c * s.h * s.w, weights, s, channel, row, column)));
    const Coordinates<4> place = {{image, to, row, column}, {1, s.c_out, s.h_out, s.w_out}};
    return from_float<Element>(epilogue.of(static_cast<float>(total), place));
}
