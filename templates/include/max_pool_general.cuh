// max_pool_general.cuh: a simple, unoptimised max pool (1D to 3D) that computes one output element.
//
// Padding is ignored. If a window contains a NaN, the result is NaN, as in PyTorch.
#include "convolution_place.cuh"
#include "limits.cuh"
#include "taps.cuh"
#include "volume_sizes.cuh"

__device__ Element max_pool_plain(const Element* x, const Sizes& s, long long i, const Epilogue& epilogue) {
    const Spot output(s.channels_last, s.c, s.d_out * s.h_out * s.w_out, i);
    const ConvolutionPlace place = {i, output.channel, s.c, s.d_out * s.h_out * s.w_out, s.channels_last != 0};
    const long long column = output.place % s.w_out, row = output.place / s.w_out % s.h_out, slice = output.place / s.w_out / s.h_out;
    const Strides strides(s.channels_last, s.c, s.d * s.h * s.w);
    const Element* volume = x + output.image * strides.image + output.channel * strides.channel;
    const long long front = slice * s.stride_d - s.padding_d, top = row * s.stride_h - s.padding_h,
                    left = column * s.stride_w - s.padding_w;
    const Taps deep = taps(front, s.kernel_d, s.dilation_d, s.d), down = taps(top, s.kernel_h, s.dilation_h, s.h),
               across = taps(left, s.kernel_w, s.dilation_w, s.w);

    float largest = negative_infinity();
    for (long long kd = deep.begin; kd < deep.end; ++kd)
        for (long long kh = down.begin; kh < down.end; ++kh) {
            const long long its_row = (front + kd * s.dilation_d) * s.h + top + kh * s.dilation_h;
            for (long long kw = across.begin; kw < across.end; ++kw) {
                const float value = to_float(volume[(its_row * s.w + left + kw * s.dilation_w) * strides.place]);
                if (value > largest || value != value) largest = value;
            }
        }
    return from_float<Element>(epilogue.of(largest, place));
}

__device__ Element max_pool_general(const Element* x, const Sizes& s, long long i EPILOGUE_PARAMETERS) {
    return max_pool_plain(x, s, i, {EPILOGUE_ARGUMENTS});
}
