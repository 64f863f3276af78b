// plain.cuh: an output element of a convolution as its definition says, which the
// reference and the general kernel share. PyTorch's answers prove it through both.
// A Sizes has the problem's sizes as members; sums are of type Sum.
#pragma once
#include "element.cuh"
#include "factor.cuh"
#include "taps.cuh"

template <class Sum, class Sizes>
__device__ __forceinline__ Element conv2d_plain(const Element* x, const Element* weight, const Element* bias, const Sizes& s,
                                                long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, plane = i / s.w_out / s.h_out;
    const long long c_out = plane % s.c_out, image = plane / s.c_out;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);
    const Element* channel = x + (image * s.c + c_out / s.c_out_group * s.c_group) * s.h * s.w;
    const Element* window = weight + c_out * s.c_group * s.kernel_h * s.kernel_w;

    // Sums of sums: a rounding error a channel and one for each of its products,
    // instead of one after the other through all of them.
    Sum total = bias ? to_float(bias[c_out]) : 0.0f;
    for (long long c = 0; c < s.c_group; ++c, channel += s.h * s.w, window += s.kernel_h * s.kernel_w) {
        Sum sum = 0;
        for (long long ky = down.begin; ky < down.end; ++ky) {
            const Element* from = channel + (top + ky * s.dilation_h) * s.w + left;
            for (long long kx = across.begin; kx < across.end; ++kx)
                sum += Sum(factor(to_float(from[kx * s.dilation_w]))) * Sum(factor(to_float(window[ky * s.kernel_w + kx])));
        }
        total += sum;
    }
    return from_float<Element>((float)total);
}
