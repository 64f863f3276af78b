// convolution.cuh: computes one output of a convolution (1D to 3D, transposed or not) by its definition, for reference
// and fallback kernels. Sizes is a type whose members are the problem's sizes; products are accumulated in the type
// Sum.
#pragma once
#include "convolution_place.cuh"
#include "element.cuh"
#include "factor.cuh"

// OutputPlace computes the image, channel and coordinates of the output with linear index i.
struct OutputPlace : Spot {
    long long w, h, d;
    template <class Sizes>
    __device__ __forceinline__ OutputPlace(const Sizes& s, long long i)
        : Spot(s.channels_last, s.c_out, s.d_out * s.h_out * s.w_out, i), w(place % s.w_out), h(place / s.w_out % s.h_out),
          d(place / s.w_out / s.h_out) {}
};

// source returns the input coordinate that an output reads at a kernel tap, along one axis, or a negative number if
// there is none.
template <bool Transposed>
__device__ __forceinline__ long long source(long long output, long long tap, long long stride, long long padding,
                                            long long dilation, long long size) {
    if (!Transposed) {
        const long long at = output * stride - padding + tap * dilation;
        return at < size ? at : -1;
    }
    const long long from = output + padding - tap * dilation;
    return from >= 0 && from % stride == 0 && from / stride < size ? from / stride : -1;
}

template <class Sum, bool Transposed, class Sizes, class AnyEpilogue = NoEpilogue>
__device__ __forceinline__ Element convolution_plain(const Element* x, const Element* weight, const Element* bias, const Sizes& s,
                                                     long long i, const AnyEpilogue& epilogue = {}) {
    const OutputPlace o(s, i);
    const long long group = o.channel / s.c_out_group;
    const Strides in(s.channels_last, s.c, s.d * s.h * s.w);
    const Strides of(s.channels_last, Transposed ? s.c_out_group : s.c_group, s.kernel_d * s.kernel_h * s.kernel_w);
    const Element* channel = x + o.image * in.image + group * s.c_group * in.channel;
    // `window` points to an output channel's weights for one input channel, and `next` is the stride between input
    // channels.
    const Element* window = weight + (Transposed ? group * s.c_group * of.image + o.channel % s.c_out_group * of.channel : o.channel * of.image);
    const long long next = Transposed ? of.image : of.channel;

    // Summing each input channel separately keeps rounding errors small.
    Sum total = bias ? to_float(bias[o.channel]) : 0.0f;
    for (long long c = 0; c < s.c_group; ++c, channel += in.channel, window += next) {
        Sum sum = 0;
        for (long long kd = 0; kd < s.kernel_d; ++kd) {
            const long long d = source<Transposed>(o.d, kd, s.stride_d, s.padding_d, s.dilation_d, s.d);
            if (d < 0) continue;
            for (long long kh = 0; kh < s.kernel_h; ++kh) {
                const long long h = source<Transposed>(o.h, kh, s.stride_h, s.padding_h, s.dilation_h, s.h);
                if (h < 0) continue;
                for (long long kw = 0; kw < s.kernel_w; ++kw) {
                    const long long w = source<Transposed>(o.w, kw, s.stride_w, s.padding_w, s.dilation_w, s.w);
                    if (w < 0) continue;
                    sum += Sum(factor(to_float(channel[((d * s.h + h) * s.w + w) * in.place]))) * Sum(factor(to_float(window[((kd * s.kernel_h + kh) * s.kernel_w + kw) * of.place])));
                }
            }
        }
        total += sum;
    }
    const ConvolutionPlace place = {i, o.channel, s.c_out, s.d_out * s.h_out * s.w_out, s.channels_last != 0};
    return from_float<Element>(epilogue.of((float)total, place));
}
