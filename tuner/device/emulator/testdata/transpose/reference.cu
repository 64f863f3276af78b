// transpose, reference: one thread an output.
#include <cuda_fp16.h>
#ifndef ROWS
#define ROWS 4096
#define COLS 4096
#endif

extern "C" __global__ void transpose_reference(const __half* __restrict__ x, __half* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)ROWS * COLS) y[i] = x[i % ROWS * COLS + i / ROWS];
}
