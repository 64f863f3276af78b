// convolution_direct.cu: convolutions (1D to 3D, transposed or not) on CUDA cores. This kernel works for any problem on
// any GPU, but is slow.
//
// A thread computes CHANNELS output channels of one output pixel and loads each input once for all of them.
// Neighbouring threads compute neighbouring pixels, and all threads of a block read the same weights.
//
// The tunables:
//   THREADS: threads per block.
//   CHANNELS: output channels per thread; more channels save loads, but need registers and leave fewer threads.
#include "convolution.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    convolution_direct(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                       Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    constexpr long long places = (long long)D_OUT * H_OUT * W_OUT;
    constexpr int parts = (C_OUT_GROUP + CHANNELS - 1) / CHANNELS;
    constexpr Strides in(CHANNELS_LAST, C, (long long)D * H * W), written(CHANNELS_LAST, C_OUT, places),
        of(CHANNELS_LAST, TRANSPOSED ? C_OUT_GROUP : C_GROUP, KERNEL_D * KERNEL_H * KERNEL_W);
    const long long index = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (index >= (long long)N * places) return;
    const int group = blockIdx.y / parts, first = blockIdx.y % parts * CHANNELS;  // within the group's output channels
    const int w_out = index % W_OUT, h_out = index / W_OUT % H_OUT, d_out = index / ((long long)W_OUT * H_OUT) % D_OUT;
    const long long image = index / places;
    const Element* channel = x + image * in.image + group * C_GROUP * in.channel;

    float sums[CHANNELS] = {};
    for (int c = 0; c < C_GROUP; ++c, channel += in.channel)
        for (int kd = 0; kd < KERNEL_D; ++kd) {
            const long long d = source<TRANSPOSED>(d_out, kd, STRIDE_D, PADDING_D, DILATION_D, D);
            if (d < 0) continue;
            for (int kh = 0; kh < KERNEL_H; ++kh) {
                const long long h = source<TRANSPOSED>(h_out, kh, STRIDE_H, PADDING_H, DILATION_H, H);
                if (h < 0) continue;
                for (int kw = 0; kw < KERNEL_W; ++kw) {
                    const long long w = source<TRANSPOSED>(w_out, kw, STRIDE_W, PADDING_W, DILATION_W, W);
                    if (w < 0) continue;
                    const float v = factor(read_only(channel + ((d * H + h) * W + w) * in.place));
                    const int tap = (kd * KERNEL_H + kh) * KERNEL_W + kw;
#pragma unroll
                    for (int j = 0; j < CHANNELS; ++j) {
                        const int out = first + j < C_OUT_GROUP ? first + j : C_OUT_GROUP - 1;
                        const long long pair = TRANSPOSED ? (group * C_GROUP + c) * of.image + out * of.channel
                                                          : (group * C_OUT_GROUP + out) * of.image + c * of.channel;
                        sums[j] += v * factor(read_only(weight + pair + tap * of.place));
                    }
                }
            }
        }
#pragma unroll
    for (int j = 0; j < CHANNELS; ++j) {
        if (first + j >= C_OUT_GROUP) break;
        const long long out = group * C_OUT_GROUP + first + j;
        const long long at = image * written.image + out * written.channel + index % places * written.place;
        const float sum = sums[j] + (BIAS ? read_only(bias + out) : 0.0f);
        y[at] = from_float<Element>(epilogue.of(sum, ConvolutionPlace{at, out, C_OUT, places, CHANNELS_LAST}));
    }
}
