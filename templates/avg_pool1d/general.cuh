// avg_pool1d, general: output element i of any problem, as plainly as possible. The
// reference calls it with a problem's sizes, an exported module with sizes that are
// known at run time.
#ifndef SIZES
#define SIZES long long c, w, kernel, stride, padding, count_include_pad, w_out
#endif
#include "taps.cuh"

struct Sizes {
    SIZES;
};

__device__ float avg_pool1d_general(const float* x, const Sizes& s, long long i) {
    const long long row = i / s.w_out, column = i % s.w_out;

    // The window ends with the padding even where ceil_mode lets it hang over.
    const long long first = column * s.stride - s.padding;
    const long long left = s.w + s.padding - first, padded = left < s.kernel ? left : s.kernel;
    const Taps inside = taps(first, s.kernel, 1, s.w);

    double sum = 0.0;
    for (long long k = inside.begin; k < inside.end; ++k) sum += x[row * s.w + first + k];
    const long long count = s.count_include_pad ? padded : inside.end - inside.begin;
    return inside.begin < inside.end ? (float)(sum / count) : 0.0f;
}
