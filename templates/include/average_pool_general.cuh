// average_pool_general.cuh: output element i of any average pool of up to three axes, as plainly as possible.
#include "taps.cuh"
#include "volume_sizes.cuh"

// padded counts a window's elements inside the padded input: a window ends with
// the padding even where ceil_mode lets it hang over.
__device__ __forceinline__ long long padded(long long first, long long kernel, long long size, long long padding) {
    const long long left = size + padding - first;
    return left < kernel ? left : kernel;
}

__device__ float average_pool_general(const float* x, const Sizes& s, long long i) {
    const long long column = i % s.w_out, row = i / s.w_out % s.h_out, slice = i / s.w_out / s.h_out % s.d_out;
    const long long volume = i / s.w_out / s.h_out / s.d_out;
    const long long front = slice * s.stride_d - s.padding_d, top = row * s.stride_h - s.padding_h,
                    left = column * s.stride_w - s.padding_w;
    const Taps deep = taps(front, s.kernel_d, 1, s.d), down = taps(top, s.kernel_h, 1, s.h),
               across = taps(left, s.kernel_w, 1, s.w);
    if (deep.begin >= deep.end || down.begin >= down.end || across.begin >= across.end) return 0.0f;

    double sum = 0.0;
    for (long long kd = deep.begin; kd < deep.end; ++kd)
        for (long long kh = down.begin; kh < down.end; ++kh) {
            const float* from = x + ((volume * s.d + front + kd) * s.h + top + kh) * s.w + left;
            for (long long kw = across.begin; kw < across.end; ++kw) sum += from[kw];
        }
    const long long elements = s.count_include_pad
                                   ? padded(front, s.kernel_d, s.d, s.padding_d) * padded(top, s.kernel_h, s.h, s.padding_h) *
                                         padded(left, s.kernel_w, s.w, s.padding_w)
                                   : (deep.end - deep.begin) * (down.end - down.begin) * (across.end - across.begin);
    return (float)(sum / (s.divisor ? s.divisor : elements));
}
