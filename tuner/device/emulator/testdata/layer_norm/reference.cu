// layer_norm, reference: one thread an element; a row's first one also writes its
// mean and scale.
#include <cuda_fp16.h>
#ifndef ROWS
#define ROWS 4096
#define COLS 4096
#endif

extern "C" __global__ void layer_norm_reference(const __half* __restrict__ x, const float* __restrict__ gain, const float* __restrict__ bias,
                                                float epsilon, __half* __restrict__ y, float* __restrict__ mean, float* __restrict__ scale) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)ROWS * COLS) return;
    const long long row = i / COLS, column = i % COLS;
    double sum = 0, squares = 0;
    for (int c = 0; c < COLS; ++c) sum += __half2float(x[row * COLS + c]);
    const double middle = sum / COLS;
    for (int c = 0; c < COLS; ++c) {
        const double d = __half2float(x[row * COLS + c]) - middle;
        squares += d * d;
    }
    const double by = 1 / sqrt(squares / COLS + epsilon);
    y[i] = __double2half((__half2float(x[i]) - middle) * by * gain[column] + bias[column]);
    if (column > 0) return;
    mean[row] = (float)middle;
    scale[row] = (float)by;
}
