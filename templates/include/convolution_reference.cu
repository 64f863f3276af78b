// The reference kernel of convolutions (1D to 3D, transposed or not), with sums in double. Each thread computes up to
// eight output channels of one output pixel.
//
// In math mode tf32, the kernel first rounds input and weights to TF32. The product of two TF32 numbers has at most 22
// significant bits, so sums in double are practically exact.
#include "plain_convolution.cuh"

constexpr int kEach = C_OUT_GROUP < 8 ? C_OUT_GROUP : 8; // output channels per thread

extern "C" __global__ void convolution_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                                 const Element* __restrict__ bias, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    const ProblemSizes s;
    const long long places = s.d_out * s.h_out * s.w_out, groups = s.c / s.c_group, parts = (s.c_out_group + kEach - 1) / kEach;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * groups * parts * places) return;
    const long long place = i % places, part = i / places % parts, group = i / places / parts % groups, image = i / places / parts / groups;
    const long long out_w = place % s.w_out, out_h = place / s.w_out % s.h_out, out_d = place / s.w_out / s.h_out;

    const Strides in(s.channels_last, s.c, s.d * s.h * s.w), out(s.channels_last, s.c_out, places);
    const Strides of(s.channels_last, TRANSPOSED ? s.c_out_group : s.c_group, s.kernel_d * s.kernel_h * s.kernel_w);
    const Element* channel = x + image * in.image + group * s.c_group * in.channel;
    const long long next = TRANSPOSED ? of.image : of.channel; // distance to the next input channel's weights
    const Element* windows[kEach];
    long long channels[kEach]; // clamped to the group's last output channel
    double totals[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        const long long nth = part * kEach + e < s.c_out_group ? part * kEach + e : s.c_out_group - 1;
        channels[e] = group * s.c_out_group + nth;
        windows[e] = weight + (TRANSPOSED ? group * s.c_group * of.image + nth * of.channel : channels[e] * of.image);
        totals[e] = BIAS ? to_float(bias[channels[e]]) : 0.0f;
    }
    // Summing each input channel separately keeps rounding errors small.
    for (long long c = 0; c < s.c_group; ++c, channel += in.channel) {
        double sums[kEach] = {};
        for (long long kd = 0; kd < s.kernel_d; ++kd) {
            const long long d = source<TRANSPOSED>(out_d, kd, s.stride_d, s.padding_d, s.dilation_d, s.d);
            if (d < 0) continue;
            for (long long kh = 0; kh < s.kernel_h; ++kh) {
                const long long h = source<TRANSPOSED>(out_h, kh, s.stride_h, s.padding_h, s.dilation_h, s.h);
                if (h < 0) continue;
                for (long long kw = 0; kw < s.kernel_w; ++kw) {
                    const long long w = source<TRANSPOSED>(out_w, kw, s.stride_w, s.padding_w, s.dilation_w, s.w);
                    if (w < 0) continue;
                    const double shared = factor(to_float(channel[((d * s.h + h) * s.w + w) * in.place]));
                    const long long at = c * next + ((kd * s.kernel_h + kh) * s.kernel_w + kw) * of.place;
#pragma unroll
                    for (int e = 0; e < kEach; ++e) sums[e] += shared * double(factor(to_float(windows[e][at])));
                }
            }
        }
#pragma unroll
        for (int e = 0; e < kEach; ++e) totals[e] += sums[e];
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        const long long at = image * out.image + channels[e] * out.channel + place * out.place;
        const ConvolutionPlace output = {at, channels[e], s.c_out, places, s.channels_last};
        y[at] = from_float<Element>(epilogue.of((float)totals[e], output));
    }
}
