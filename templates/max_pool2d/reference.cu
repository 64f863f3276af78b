// max_pool2d, reference: one thread an output.
//
// Padding is minus infinity: what lies outside the input is left out. A NaN in
// the window is the result, as PyTorch has it.
#include "limits.cuh"
#ifndef N
#define N 32
#define C 64
#define H 512
#define W 512
#define KERNEL_H 4
#define KERNEL_W 4
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 1
#define PADDING_W 1
#define DILATION_H 1
#define DILATION_W 1
#define H_OUT 511
#define W_OUT 511
#endif

extern "C" __global__ void max_pool2d_reference(const float* __restrict__ x, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * H_OUT * W_OUT) return;
    const long long column = i % W_OUT, row = i / W_OUT % H_OUT, plane = i / W_OUT / H_OUT;

    float largest = negative_infinity();
    for (long long ky = 0; ky < KERNEL_H; ++ky) {
        const long long iy = row * STRIDE_H - PADDING_H + ky * DILATION_H;
        if (iy < 0 || iy >= H) continue;
        for (long long kx = 0; kx < KERNEL_W; ++kx) {
            const long long ix = column * STRIDE_W - PADDING_W + kx * DILATION_W;
            if (ix < 0 || ix >= W) continue;
            const float value = x[(plane * H + iy) * W + ix];
            if (value > largest || value != value) largest = value;
        }
    }
    y[i] = largest;
}
