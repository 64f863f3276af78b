// avg_pool2d, general: output element i of any problem, as plainly as possible. The
// reference calls it with a problem's sizes, an exported module with sizes that are
// known at run time.
#ifndef SIZES
#define SIZES long long h, w, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, count_include_pad, h_out, w_out
#endif
#include "taps.cuh"

struct Sizes {
    SIZES;
};

// padded counts a window's elements inside the padded input: a window ends with
// the padding even where ceil_mode lets it hang over.
__device__ __forceinline__ long long padded(long long first, long long kernel, long long size, long long padding) {
    const long long left = size + padding - first;
    return left < kernel ? left : kernel;
}

__device__ float avg_pool2d_general(const float* x, const Sizes& s, long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, plane = i / s.w_out / s.h_out;
    const long long top = row * s.stride_h - s.padding_h, left = column * s.stride_w - s.padding_w;
    const Taps down = taps(top, s.kernel_h, 1, s.h), across = taps(left, s.kernel_w, 1, s.w);
    if (down.begin >= down.end || across.begin >= across.end) return 0.0f;

    double sum = 0.0;
    for (long long ky = down.begin; ky < down.end; ++ky) {
        const float* from = x + (plane * s.h + top + ky) * s.w + left;
        for (long long kx = across.begin; kx < across.end; ++kx) sum += from[kx];
    }
    const long long count = s.count_include_pad
                                ? padded(top, s.kernel_h, s.h, s.padding_h) * padded(left, s.kernel_w, s.w, s.padding_w)
                                : (down.end - down.begin) * (across.end - across.begin);
    return (float)(sum / count);
}
