// max_pool1d, general: output element i of any problem, as plainly as possible. The
// reference calls it with a problem's sizes, an exported module with sizes that are
// known at run time.
//
// Padding is minus infinity: what lies outside the input is left out. A NaN in the
// window is the result, as in PyTorch.
#ifndef SIZES
#define SIZES long long w, kernel, stride, padding, dilation, w_out
#endif
#include "limits.cuh"
#include "taps.cuh"

struct Sizes {
    SIZES;
};

__device__ float max_pool1d_general(const float* x, const Sizes& s, long long i) {
    const long long row = i / s.w_out, first = i % s.w_out * s.stride - s.padding;
    const Taps inside = taps(first, s.kernel, s.dilation, s.w);

    float largest = negative_infinity();
    for (long long k = inside.begin; k < inside.end; ++k) {
        const float value = x[row * s.w + first + k * s.dilation];
        if (value > largest || value != value) largest = value;
    }
    return largest;
}
