/*
operator: transpose
summary: The transpose of a matrix of halves.
shape: [rows, cols]
example: 16384x16384
tensors:
  - {name: x, role: input, type: f16, shape: [rows, cols]}
  - {name: y, role: output, type: f16, shape: [cols, rows], tolerance: [0, 0]}
cost: [4*rows*cols]
templates:
  - name: tiled
    summary: A block turns a square tile around in shared memory, element by element.
    tunables:
      tile: [16, 32, 64]
      height: [4, 8, 16]
      pad: [0, 1, 2]
    launch:
      block: [tile, height]
      grid: ["ceil_div(cols, tile)", "ceil_div(rows, tile)"]
    default: {tile: 32, height: 8, pad: 0}
  - name: turned
    summary: A thread turns a square of vec by vec elements around in its registers.
    tunables:
      vec: [1, 2, 4, 8]
      across: [2, 4, 8, 16]
      warps_x: [1, 2, 4]
      warps_y: [1, 2, 4]
      down_first: [false, true]
    constraints:
      - rows % vec == 0 and cols % vec == 0
    derived:
      blocks_x: ceil_div(cols, warps_x*across*vec)
      blocks_y: ceil_div(rows, warps_y*(32//across)*vec)
    launch:
      block: [32, warps_x, warps_y]
      grid: [blocks_y if down_first else blocks_x, blocks_x if down_first else blocks_y]
    default: {vec: 4, across: 4, warps_x: 2, warps_y: 2, down_first: false}
*/

// In a naive transpose, a warp that reads along a row writes two bytes to each of 32 rows.
#include <cuda_fp16.h>
#include "row.cuh"

extern "C" __global__ void transpose_reference(const __half* __restrict__ x, __half* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)ROWS * COLS) y[i] = x[i % ROWS * COLS + i / ROWS];
}

// In the kernel `tiled`, a block transposes a tile through shared memory.
//   tile:   rows and columns of the tile, and threads in a block's x dimension
//   height: threads in a block's y dimension
//   pad:    padding of the tile's rows in elements, against bank conflicts
extern "C" __global__ void __launch_bounds__(TILE * HEIGHT)
transpose_tiled(const __half* __restrict__ x, __half* __restrict__ y) {
    __shared__ __half tile[TILE][TILE + PAD];
    const long long row = (long long)blockIdx.y * TILE, column = (long long)blockIdx.x * TILE;
    for (int r = threadIdx.y; r < TILE; r += HEIGHT)
        if (row + r < ROWS && column + threadIdx.x < COLS) tile[r][threadIdx.x] = x[(row + r) * COLS + column + threadIdx.x];
    __syncthreads();
    for (int c = threadIdx.y; c < TILE; c += HEIGHT)
        if (column + c < COLS && row + threadIdx.x < ROWS) y[(column + c) * ROWS + row + threadIdx.x] = tile[threadIdx.x][c];
}

// The kernel `turned` transposes in registers, without shared memory. A warp reads and writes about 64 contiguous
// bytes of each row, which are whole sectors.
//   vec:              rows and columns of a lane's square; 8 halves are one access of 16 bytes
//   across:           lanes side by side in a warp, in 32 / across rows
//   warps_x, warps_y: warps per block in x and y
//   down_first:       whether consecutive blocks follow each other down the columns
extern "C" __global__ void __launch_bounds__(32 * WARPS_X * WARPS_Y)
transpose_turned(const __half* __restrict__ x, __half* __restrict__ y) {
    constexpr int Down = 32 / ACROSS;
    const long long right = (long long)(DOWN_FIRST ? blockIdx.y : blockIdx.x) * WARPS_X + threadIdx.y;
    const long long down = (long long)(DOWN_FIRST ? blockIdx.x : blockIdx.y) * WARPS_Y + threadIdx.z;
    const long long column = (right * ACROSS + threadIdx.x / Down) * VEC, row = (down * Down + threadIdx.x % Down) * VEC;
    if (row >= ROWS || column >= COLS) return;
    Run<__half, VEC> in[VEC];
#pragma unroll
    for (int r = 0; r < VEC; ++r) in[r] = load_run<VEC>(x + (row + r) * COLS + column);
#pragma unroll
    for (int c = 0; c < VEC; ++c) {
        Run<__half, VEC> out;
#pragma unroll
        for (int r = 0; r < VEC; ++r) out.at[r] = in[r].at[c];
        store_run<VEC>(y + (column + c) * ROWS + row, out);
    }
}
