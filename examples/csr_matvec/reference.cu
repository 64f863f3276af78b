// csr_matvec, reference: one thread computes one row.
#ifndef ROWS
#define ROWS 1048576
#endif

extern "C" __global__ void csr_matvec_reference(const int* __restrict__ starts, const int* __restrict__ columns,
                                                const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y) {
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    double sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += (double)values[i] * x[columns[i]];
    y[row] = (float)sum;
}
