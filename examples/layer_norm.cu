/*
operator: layer_norm
summary: Rows scaled to mean 0 and deviation 1, then weighted; with the means and the scales, as a backward pass needs them.
shape: [rows, cols]
example: 65536x4096
tensors:
  - {name: x, role: input, type: f16, shape: [rows, cols]}
  - {name: gain, role: weight, type: f16, shape: [cols], fill: within(2)}
  - {name: bias, role: weight, type: f16, shape: [cols]}
  - {name: epsilon, type: f32, value: 1e-5}
  - {name: y, role: output, type: f16, shape: [rows, cols], tolerance: [0.01]}
  - {name: mean, role: output, shape: [rows]}
  - {name: scale, role: output, shape: [rows], tolerance: [1e-4, 1e-3]}
inputs: [normal, uniform01, negative]
cost: [4*rows*cols + 4*cols + 8*rows, 8*rows*cols]
templates:
  - name: row
    summary: The threads of a row keep it in registers between its mean, its deviation and the result.
    tunables:
      threads: [32, 64, 128, 256, 512]
      rows_a_block: [1, 2, 4]
      vec: [1, 2, 4, 8]
    derived:
      items: ceil_div(cols, threads*vec)
    constraints:
      - cols % vec == 0
      - items*vec <= 64
    launch:
      block: [threads, rows_a_block]
      grid: ["ceil_div(rows, rows_a_block)"]
    default: {threads: 128, rows_a_block: 1, vec: 1}
*/

#include <cuda_fp16.h>
#include "row.cuh"

// One thread of a block computes a whole row.
extern "C" __global__ void layer_norm_reference(const __half* __restrict__ x, const __half* __restrict__ gain,
                                                const __half* __restrict__ bias, float epsilon, __half* __restrict__ y,
                                                float* __restrict__ mean, float* __restrict__ scale) {
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    x += row * COLS;
    y += row * COLS;
    double sum = 0, squares = 0;
    for (int c = 0; c < COLS; ++c) sum += __half2float(x[c]);
    const double middle = sum / COLS;
    for (int c = 0; c < COLS; ++c) squares += (__half2float(x[c]) - middle) * (__half2float(x[c]) - middle);
    const double by = 1 / sqrt(squares / COLS + epsilon);
    for (int c = 0; c < COLS; ++c) y[c] = __double2half((__half2float(x[c]) - middle) * by * __half2float(gain[c]) + __half2float(bias[c]));
    mean[row] = (float)middle;
    scale[row] = (float)by;
}

// The kernel `row` reads and writes each element once; the caches hold gain and bias. A second loop over the
// registers sums the squared deviations from the mean.
//   threads:      threads per row
//   rows_a_block: rows per block
//   vec:          elements per access; 8 elements are 16 bytes
extern "C" __global__ void __launch_bounds__(THREADS * ROWS_A_BLOCK)
layer_norm_row(const __half* __restrict__ x, const __half* __restrict__ gain, const __half* __restrict__ bias, float epsilon,
               __half* __restrict__ y, float* __restrict__ mean, float* __restrict__ scale) {
    const long long row = (long long)blockIdx.x * ROWS_A_BLOCK + threadIdx.y;
    x += row * COLS;
    y += row * COLS;
    const int columns = row < ROWS ? COLS : 0;
    float v[ITEMS][VEC];
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int column = (i * THREADS + threadIdx.x) * VEC;
        Run<__half, VEC> run;
        if (column < columns) run = load_run<VEC>(x + column);
#pragma unroll
        for (int k = 0; k < VEC; ++k) v[i][k] = column < columns ? __half2float(run.at[k]) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
        for (int k = 0; k < VEC; ++k) sum += v[i][k];
    const float middle = over_row<THREADS, ROWS_A_BLOCK>(sum, Sum()) / COLS;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if ((i * THREADS + threadIdx.x) * VEC >= columns) continue;
#pragma unroll
        for (int k = 0; k < VEC; ++k) v[i][k] -= middle, squares += v[i][k] * v[i][k];
    }
    const float by = rsqrtf(over_row<THREADS, ROWS_A_BLOCK>(squares, Sum()) / COLS + epsilon);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int column = (i * THREADS + threadIdx.x) * VEC;
        if (column >= columns) continue;
        const Run<__half, VEC> g = load_run<VEC>(gain + column), b = load_run<VEC>(bias + column);
        Run<__half, VEC> run;
#pragma unroll
        for (int k = 0; k < VEC; ++k) run.at[k] = __float2half_rn(v[i][k] * by * __half2float(g.at[k]) + __half2float(b.at[k]));
        store_run<VEC>(y + column, run);
    }
    if (columns == 0 || threadIdx.x > 0) return;
    mean[row] = middle;
    scale[row] = by;
}
