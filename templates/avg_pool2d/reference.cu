// avg_pool2d, reference: one thread an output, added up in double.
#ifndef N
#define N 16
#define C 64
#define H 2048
#define W 2048
#define KERNEL_H 11
#define KERNEL_W 11
#define STRIDE_H 11
#define STRIDE_W 11
#define PADDING_H 0
#define PADDING_W 0
#define COUNT_INCLUDE_PAD 1
#define H_OUT 186
#define W_OUT 186
#endif

__device__ long long least(long long a, long long b) { return a < b ? a : b; }
__device__ long long most(long long a, long long b) { return a > b ? a : b; }

extern "C" __global__ void avg_pool2d_reference(const float* __restrict__ x, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * H_OUT * W_OUT) return;
    const long long column = i % W_OUT, row = i / W_OUT % H_OUT, plane = i / W_OUT / H_OUT;

    // The window, first with the padding that counts, then within the input.
    const long long top = row * STRIDE_H - PADDING_H, left = column * STRIDE_W - PADDING_W;
    const long long bottom = least(top + KERNEL_H, (long long)H + PADDING_H);
    const long long right = least(left + KERNEL_W, (long long)W + PADDING_W);
    const long long padded = (bottom - top) * (right - left);
    const long long y0 = most(top, 0), y1 = least(bottom, H), x0 = most(left, 0), x1 = least(right, W);
    if (y0 >= y1 || x0 >= x1) {
        y[i] = 0.0f;
        return;
    }

    double sum = 0.0;
    for (long long iy = y0; iy < y1; ++iy)
        for (long long ix = x0; ix < x1; ++ix) sum += x[(plane * H + iy) * W + ix];
    y[i] = (float)(sum / (COUNT_INCLUDE_PAD ? padded : (y1 - y0) * (x1 - x0)));
}
