// max_pool3d, general: output element i of any problem, as plainly as possible. The
// reference calls it with a problem's sizes, an exported module with sizes that are
// known at run time.
//
// Padding is minus infinity: what lies outside the input is left out. A NaN in the
// window is the result, as in PyTorch.
#ifndef SIZES
#define SIZES long long d, h, w, kernel_d, kernel_h, kernel_w, stride_d, stride_h, stride_w, padding_d, padding_h, padding_w, dilation_d, dilation_h, dilation_w, d_out, h_out, w_out
#endif
#include "limits.cuh"
#include "taps.cuh"

struct Sizes {
    SIZES;
};

__device__ float max_pool3d_general(const float* x, const Sizes& s, long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, slice = i / s.w_out / s.h_out % s.d_out;
    const long long volume = i / s.w_out / s.h_out / s.d_out;
    const long long front = slice * s.stride_d - s.padding_d, top = row * s.stride_h - s.padding_h,
                    left = column * s.stride_w - s.padding_w;
    const Taps deep = taps(front, s.kernel_d, s.dilation_d, s.d), down = taps(top, s.kernel_h, s.dilation_h, s.h),
               across = taps(left, s.kernel_w, s.dilation_w, s.w);

    float largest = negative_infinity();
    for (long long kd = deep.begin; kd < deep.end; ++kd)
        for (long long kh = down.begin; kh < down.end; ++kh) {
            const long long its_row = (volume * s.d + front + kd * s.dilation_d) * s.h + top + kh * s.dilation_h;
            for (long long kw = across.begin; kw < across.end; ++kw) {
                const float value = x[its_row * s.w + left + kw * s.dilation_w];
                if (value > largest || value != value) largest = value;
            }
        }
    return largest;
}
