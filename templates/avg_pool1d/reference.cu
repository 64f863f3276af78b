// avg_pool1d, reference: one thread an output, added up in double.
#ifndef N
#define N 64
#define C 128
#define W 65536
#define KERNEL 8
#define STRIDE 1
#define PADDING 4
#define COUNT_INCLUDE_PAD 1
#define W_OUT 65537
#endif

extern "C" __global__ void avg_pool1d_reference(const float* __restrict__ x, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * W_OUT) return;
    const long long row = i / W_OUT, column = i % W_OUT;

    // The window, first with the padding that counts, then within the input.
    const long long begin = column * STRIDE - PADDING;
    const long long padded = begin + KERNEL < (long long)W + PADDING ? begin + KERNEL : (long long)W + PADDING;
    const long long first = begin > 0 ? begin : 0, end = padded < W ? padded : W;

    double sum = 0.0;
    for (long long k = first; k < end; ++k) sum += x[row * W + k];
    const long long divisor = COUNT_INCLUDE_PAD ? padded - begin : end - first;
    y[i] = first < end ? (float)(sum / divisor) : 0.0f;
}
