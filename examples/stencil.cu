/*
operator: stencil
summary: Each point of a plane becomes a weighted sum of the points around it; beyond the edges are zeros.
shape: [rows, cols]
example: 16384x16384
parameters:
  radius: {type: int, default: 2, range: [0], summary: "points to each side: the weights are a square of 2*radius + 1"}
requires:
  radius <= 4: "a radius of {radius} is too large; 4 is the most"
derived:
  side: 2*radius + 1
tensors:
  - {name: x, role: input, shape: [rows, cols]}
  - {name: taps, role: constant, shape: [side, side], fill: "uniform(-1, 1)"}  # the weights, in constant memory
  - {name: y, role: output, shape: [rows, cols]}
cost: [8*rows*cols, 2*side*side*rows*cols]
templates:
  - name: columns
    summary: A thread walks down height rows of vec adjacent columns.
    tunables:
      threads_x: [32, 64, 128]
      threads_y: [1, 2, 4, 8]
      vec: [1, 2, 4]
      height: [1, 2, 4, 8, 16]
    constraints:
      - cols % vec == 0
      - vec*height <= 32
    launch:
      block: [threads_x, threads_y]
      grid: ["ceil_div(cols, threads_x*vec)", "ceil_div(rows, threads_y*height)"]
    default: {threads_x: 32, threads_y: 8, vec: 1, height: 1}
*/

#include "vector_access.cuh"

__constant__ float taps[SIDE * SIDE];

extern "C" __global__ void stencil_reference(const float* __restrict__ x, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)ROWS * COLS) return;
    double sum = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy)
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const long long row = i / COLS + dy, column = i % COLS + dx;
            if (row < 0 || row >= ROWS || column < 0 || column >= COLS) continue;
            sum += (double)taps[(dy + RADIUS) * SIDE + dx + RADIUS] * x[row * COLS + column];
        }
    y[i] = (float)sum;
}

// In the kernel `columns`, each input row that a thread reads contributes to several of its outputs. The L1 cache
// serves the points to the left and right of a thread's columns. The weights are in constant memory.
//   threads_x, threads_y: threads per block in x and y
//   vec:                  columns per thread
//   height:               rows per thread
extern "C" __global__ void __launch_bounds__(THREADS_X * THREADS_Y)
stencil_columns(const float* __restrict__ x, float* __restrict__ y) {
    constexpr int Beside = (RADIUS + VEC - 1) / VEC * VEC;  // points on each side, in whole vectors
    const long long column = ((long long)blockIdx.x * THREADS_X + threadIdx.x) * VEC;
    const long long row = ((long long)blockIdx.y * THREADS_Y + threadIdx.y) * HEIGHT;
    if (column >= COLS || row >= ROWS) return;
    float sums[HEIGHT][VEC] = {};
#pragma unroll
    for (int r = -RADIUS; r < HEIGHT + RADIUS; ++r) {
        float line[2 * Beside + VEC] = {};
        if (row + r >= 0 && row + r < ROWS) {
#pragma unroll
            for (int c = -Beside; c < Beside + VEC; c += VEC)
                if (column + c >= 0 && column + c < COLS) load_vector<VEC>(line + Beside + c, x + (row + r) * COLS + column + c);
        }
#pragma unroll
        for (int h = r - RADIUS; h <= r + RADIUS; ++h) {
            if (h < 0 || h >= HEIGHT) continue;
#pragma unroll
            for (int k = 0; k < VEC; ++k)
#pragma unroll
                for (int dx = -RADIUS; dx <= RADIUS; ++dx)
                    sums[h][k] += taps[(r - h + RADIUS) * SIDE + dx + RADIUS] * line[Beside + k + dx];
        }
    }
#pragma unroll
    for (int h = 0; h < HEIGHT; ++h)
        if (row + h < ROWS) store_vector<VEC>(y + (row + h) * COLS + column, sums[h]);
}
