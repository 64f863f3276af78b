// depthwise_conv2d, general: computes output element i of a problem of any size. The reference kernel calls this
// function with compile-time sizes, and an exported PyTorch module with sizes known at run time.
#ifndef SIZES
#define SIZES long long c, h, w, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, h_out, w_out, channels_last
#endif
#include "convolution_place.cuh"
#include "taps.cuh"

struct Sizes {
    SIZES;
};

template <class Sum>
__device__ Element depthwise_plain(const Element* x, const Element* weight, const Element* bias, const Sizes& s, long long i,
                                   const Epilogue& epilogue) {
    const Spot output(s.channels_last, s.c, s.h_out * s.w_out, i);
    const long long column = output.place % s.w_out, row = output.place / s.w_out, channel = output.channel;
    const Strides strides(s.channels_last, s.c, s.h * s.w);
    const Element* plane = x + output.image * strides.image + channel * strides.channel;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);

    Sum total = bias ? to_float(bias[channel]) : 0.0f;
    for (long long ky = down.begin; ky < down.end; ++ky) {
        const long long first = (top + ky * s.dilation_h) * s.w + left;
        const Element* taps_of_row = weight + (channel * s.kernel_h + ky) * s.kernel_w;
        Sum sum = 0;
        for (long long kx = across.begin; kx < across.end; ++kx)
            sum += (Sum)to_float(plane[(first + kx * s.dilation_w) * strides.place]) * to_float(taps_of_row[kx]);
        total += sum;
    }
    const ConvolutionPlace place = {i, channel, s.c, s.h_out * s.w_out, s.channels_last != 0};
    return from_float<Element>(epilogue.of((float)total, place));
}

__device__ Element depthwise_conv2d_general(const Element* x, const Element* weight, const Element* bias, const Sizes& s,
                                            long long i EPILOGUE_PARAMETERS) {
    return depthwise_plain<float>(x, weight, bias, s, i, {EPILOGUE_ARGUMENTS});
}
