/*
operator: softmax
summary: Softmax of each row of a matrix of bfloat16, or its logarithm, in 32-bit arithmetic.
shape: [rows, cols]
example: 65536x4096
parameters:
  result: {type: word, choices: [quotient, logarithm], default: quotient, summary: what the elements become}
tensors:
  - {name: x, role: input, type: bf16, shape: [rows, cols]}
  - {name: y, role: output, type: bf16, shape: [rows, cols], tolerance: [0.0001]}
inputs: [normal, uniform01, negative]
cost: [4*rows*cols, 4*rows*cols]
templates:
  - name: row
    summary: The threads of a row keep it in registers between its maximum, its sum and the quotients.
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

#include <cuda_bf16.h>
#include "limits.cuh"
#include "row.cuh"

enum Result { quotient, logarithm };

// One thread of a block computes a whole row.
extern "C" __global__ void softmax_reference(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y) {
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    x += row * COLS;
    y += row * COLS;
    double greatest = __bfloat162float(x[0]), sum = 0;
    for (int c = 1; c < COLS; ++c) greatest = fmax(greatest, (double)__bfloat162float(x[c]));
    for (int c = 0; c < COLS; ++c) sum += exp(__bfloat162float(x[c]) - greatest);
    for (int c = 0; c < COLS; ++c) {
        const double above = __bfloat162float(x[c]) - greatest;
        y[c] = __double2bfloat16(RESULT == quotient ? exp(above) / sum : above - log(sum));
    }
}

// The kernel `row` reads and writes each element once. A thread issues all of its loads before it uses the first.
//   threads:      threads per row
//   rows_a_block: rows per block
//   vec:          elements per access; 8 elements are 16 bytes
extern "C" __global__ void __launch_bounds__(THREADS * ROWS_A_BLOCK)
softmax_row(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y) {
    const long long row = (long long)blockIdx.x * ROWS_A_BLOCK + threadIdx.y;
    x += row * COLS;
    y += row * COLS;
    const int columns = row < ROWS ? COLS : 0;
    float v[ITEMS][VEC];
    float greatest = negative_infinity(), sum = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int column = (i * THREADS + threadIdx.x) * VEC;
        Run<__nv_bfloat16, VEC> run;
        if (column < columns) run = load_run<VEC>(x + column);
#pragma unroll
        for (int k = 0; k < VEC; ++k) v[i][k] = column < columns ? __bfloat162float(run.at[k]) : negative_infinity();
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
        for (int k = 0; k < VEC; ++k) greatest = fmaxf(greatest, v[i][k]);
    greatest = over_row<THREADS, ROWS_A_BLOCK>(greatest, Greatest());
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
            const float above = v[i][k] - greatest, power = __expf(above);
            sum += power;
            v[i][k] = RESULT == quotient ? power : above;
        }
    sum = over_row<THREADS, ROWS_A_BLOCK>(sum, Sum());
    const float scale = 1.0f / sum, less = __logf(sum);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int column = (i * THREADS + threadIdx.x) * VEC;
        Run<__nv_bfloat16, VEC> run;
#pragma unroll
        for (int k = 0; k < VEC; ++k) run.at[k] = __float2bfloat16_rn(RESULT == quotient ? v[i][k] * scale : v[i][k] - less);
        if (column < columns) store_run<VEC>(y + column, run);
    }
}
