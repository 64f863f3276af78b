// average_pool_general.cuh: a simple, unoptimised average pool (1D to 3D) that computes one output element.
#include "convolution_place.cuh"
#include "taps.cuh"
#include "volume_sizes.cuh"

// padded counts a window's elements along one axis: it includes padding, but not the overhang that ceil_mode allows.
__device__ __forceinline__ long long padded(long long first, long long kernel, long long size, long long padding) {
    const long long left = size + padding - first;
    return left < kernel ? left : kernel;
}

__device__ Element average_pool_plain(const Element* x, const Sizes& s, long long i, const Epilogue& epilogue) {
    const Spot output(s.channels_last, s.c, s.d_out * s.h_out * s.w_out, i);
    const ConvolutionPlace place = {i, output.channel, s.c, s.d_out * s.h_out * s.w_out, s.channels_last != 0};
    const long long column = output.place % s.w_out, row = output.place / s.w_out % s.h_out, slice = output.place / s.w_out / s.h_out;
    const Strides strides(s.channels_last, s.c, s.d * s.h * s.w);
    const Element* volume = x + output.image * strides.image + output.channel * strides.channel;
    const long long front = slice * s.stride_d - s.padding_d, top = row * s.stride_h - s.padding_h,
                    left = column * s.stride_w - s.padding_w;
    const Taps deep = taps(front, s.kernel_d, 1, s.d), down = taps(top, s.kernel_h, 1, s.h),
               across = taps(left, s.kernel_w, 1, s.w);
    if (deep.begin >= deep.end || down.begin >= down.end || across.begin >= across.end) return from_float<Element>(epilogue.of(0.0f, place));

    double sum = 0.0;
    for (long long kd = deep.begin; kd < deep.end; ++kd)
        for (long long kh = down.begin; kh < down.end; ++kh) {
            const long long first = ((front + kd) * s.h + top + kh) * s.w + left;
            for (long long kw = across.begin; kw < across.end; ++kw) sum += to_float(volume[(first + kw) * strides.place]);
        }
    const long long elements = s.count_include_pad
                                   ? padded(front, s.kernel_d, s.d, s.padding_d) * padded(top, s.kernel_h, s.h, s.padding_h) *
                                         padded(left, s.kernel_w, s.w, s.padding_w)
                                   : (deep.end - deep.begin) * (down.end - down.begin) * (across.end - across.begin);
    return from_float<Element>(epilogue.of((float)(sum / (s.divisor ? s.divisor : elements)), place));
}

__device__ Element average_pool_general(const Element* x, const Sizes& s, long long i EPILOGUE_PARAMETERS) {
    return average_pool_plain(x, s, i, {EPILOGUE_ARGUMENTS});
}
