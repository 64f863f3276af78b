// softmax, reference: one thread an output.
#include <cuda_bf16.h>
#ifndef ROWS
#define ROWS 4096
#define COLS 4096
#endif

extern "C" __global__ void softmax_reference(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)ROWS * COLS) return;
    const __nv_bfloat16* row = x + i / COLS * COLS;
    double greatest = __bfloat162float(row[0]), sum = 0;
    for (int c = 1; c < COLS; ++c) greatest = fmax(greatest, (double)__bfloat162float(row[c]));
    for (int c = 0; c < COLS; ++c) sum += exp(__bfloat162float(row[c]) - greatest);
    y[i] = __double2bfloat16(exp(__bfloat162float(x[i]) - greatest) / sum);
}
