// csr_matvec, lanes: several lanes share a row and read its values and columns contiguously. The elements of x lie
// near the diagonal, and so in the L1 cache.
//
// Tunables:
//   threads: threads per block
//   lanes:   lanes per row: with many, lanes idle where rows are short
//   unroll:  elements that a lane has in flight at once
#ifndef ROWS
#define ROWS 1048576
#endif
#ifndef THREADS
#define THREADS 128
#define LANES 8
#define UNROLL 4
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
csr_matvec_lanes(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
                 const float* __restrict__ x, float* __restrict__ y) {
    const long long row = (long long)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const int end = row < ROWS ? starts[row + 1] : 0;
    float sum = 0;
    for (int i = row < ROWS ? starts[row] + lane : 0; i < end; i += LANES * UNROLL) {
        int column[UNROLL];
        float value[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const bool there = i + u * LANES < end;
            column[u] = there ? __ldcs(columns + i + u * LANES) : 0;
            value[u] = there ? __ldcs(values + i + u * LANES) : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum += value[u] * x[column[u]];
    }
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (row < ROWS && lane == 0) y[row] = sum;
}
