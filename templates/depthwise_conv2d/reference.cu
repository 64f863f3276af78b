// depthwise_conv2d, reference: one thread an output, added up in double.
#ifndef N
#define N 16
#define C 64
#define H 512
#define W 512
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 0
#define PADDING_W 0
#define DILATION_H 1
#define DILATION_W 1
#define BIAS 0
#define H_OUT 510
#define W_OUT 510
#endif

extern "C" __global__ void depthwise_conv2d_reference(const float* __restrict__ x, const float* __restrict__ weight,
                                                      const float* __restrict__ bias, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * H_OUT * W_OUT) return;
    const long long column = i % W_OUT, row = i / W_OUT % H_OUT, plane = i / W_OUT / H_OUT;
    const long long channel = plane % C;

    double sum = BIAS ? bias[channel] : 0.0;
    for (long long ky = 0; ky < KERNEL_H; ++ky) {
        const long long iy = row * STRIDE_H - PADDING_H + ky * DILATION_H;
        if (iy < 0 || iy >= H) continue;
        for (long long kx = 0; kx < KERNEL_W; ++kx) {
            const long long ix = column * STRIDE_W - PADDING_W + kx * DILATION_W;
            if (ix < 0 || ix >= W) continue;
            sum += (double)x[(plane * H + iy) * W + ix] * weight[(channel * KERNEL_H + ky) * KERNEL_W + kx];
        }
    }
    y[i] = (float)sum;
}
