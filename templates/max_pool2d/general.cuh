// max_pool2d, general: output element i of any problem, as plainly as possible. The
// reference calls it with a problem's sizes, an exported module with sizes that are
// known at run time.
//
// Padding is minus infinity: what lies outside the input is left out. A NaN in the
// window is the result, as in PyTorch.
#ifndef SIZES
#define SIZES long long h, w, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, h_out, w_out
#endif
#include "limits.cuh"
#include "taps.cuh"

struct Sizes {
    SIZES;
};

__device__ float max_pool2d_general(const float* x, const Sizes& s, long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, plane = i / s.w_out / s.h_out;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, s.dilation_h, s.h), across = taps(left, s.kernel_w, s.dilation_w, s.w);

    float largest = negative_infinity();
    for (long long ky = down.begin; ky < down.end; ++ky) {
        const float* from = x + (plane * s.h + top + ky * s.dilation_h) * s.w + left;
        for (long long kx = across.begin; kx < across.end; ++kx) {
            const float value = from[kx * s.dilation_w];
            if (value > largest || value != value) largest = value;
        }
    }
    return largest;
}
