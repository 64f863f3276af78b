// depthwise_conv2d, general: output element i of any problem, as plainly as possible. The
// reference calls it with a problem's sizes, an exported module with sizes that are
// known at run time.
#ifndef SIZES
#define SIZES long long c, h, w, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, h_out, w_out
#endif
#include "taps.cuh"

struct Sizes {
    SIZES;
};

// Sum is the type of the sums.
template <class Sum = float>
__device__ float depthwise_conv2d_general(const float* x, const float* weight, const float* bias, const Sizes& s,
                                          long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, plane = i / s.w_out / s.h_out;
    const long long channel = plane % s.c;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);

    Sum total = bias ? bias[channel] : 0.0f;
    for (long long ky = down.begin; ky < down.end; ++ky) {
        const float* from = x + (plane * s.h + top + ky * s.dilation_h) * s.w + left;
        const float* taps_of_row = weight + (channel * s.kernel_h + ky) * s.kernel_w;
        Sum sum = 0;
        for (long long kx = across.begin; kx < across.end; ++kx) sum += (Sum)from[kx * s.dilation_w] * taps_of_row[kx];
        total += sum;
    }
    return (float)total;
}
