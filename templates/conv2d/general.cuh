// conv2d, general: output element i of any problem, in the math mode of the
// tuned kernel.
#ifndef SIZES
#define SIZES long long c, h, w, c_out, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, \
    h_out, w_out, c_group, c_out_group
#endif
#ifndef MATH_TF32
#define MATH_TF32 0
#endif
#include "factor.cuh"
#include "taps.cuh"

struct Sizes {
    SIZES;
};

__device__ float conv2d_general(const float* x, const float* weight, const float* bias, const Sizes& s, long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, plane = i / s.w_out / s.h_out;
    const long long c_out = plane % s.c_out, image = plane / s.c_out;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);
    const float* channel = x + (image * s.c + c_out / s.c_out_group * s.c_group) * s.h * s.w;
    const float* window = weight + c_out * s.c_group * s.kernel_h * s.kernel_w;

    // Sums of sums: a rounding error a channel and one for each of its products,
    // instead of one after the other through all of them.
    float total = bias ? bias[c_out] : 0.0f;
    for (long long c = 0; c < s.c_group; ++c, channel += s.h * s.w, window += s.kernel_h * s.kernel_w) {
        float sum = 0.0f;
        for (long long ky = down.begin; ky < down.end; ++ky) {
            const float* from = channel + (top + ky * s.dilation_h) * s.w + left;
            for (long long kx = across.begin; kx < across.end; ++kx)
                sum += factor(from[kx * s.dilation_w]) * factor(window[ky * s.kernel_w + kx]);
        }
        total += sum;
    }
    return total;
}
