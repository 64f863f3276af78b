// transpose, tiled: a block reads a tile by rows into shared memory and writes it by
// columns of the tile, which are rows of the result.
//
// Tunables
//   tile    the tile's side, and a block's width
//   height  rows of threads: more threads, fewer elements each
//   pad     elements between the tile's rows, against bank conflicts
#include <cuda_fp16.h>
#ifndef ROWS
#define ROWS 4096
#define COLS 4096
#endif
#ifndef TILE
#define TILE 32
#define HEIGHT 8
#define PAD 2
#endif

extern "C" __global__ void __launch_bounds__(TILE * HEIGHT)
transpose_tiled(const __half* __restrict__ x, __half* __restrict__ y) {
    __shared__ __half tile[TILE][TILE + PAD];
    const long long row = (long long)blockIdx.y * TILE, column = (long long)blockIdx.x * TILE;
    for (int r = threadIdx.y; r < TILE; r += HEIGHT)
        if (row + r < ROWS && column + threadIdx.x < COLS) tile[r][threadIdx.x] = __ldg(x + (row + r) * COLS + column + threadIdx.x);
    __syncthreads();
    for (int c = threadIdx.y; c < TILE; c += HEIGHT)
        if (column + c < COLS && row + threadIdx.x < ROWS) y[(column + c) * ROWS + row + threadIdx.x] = tile[threadIdx.x][c];
}
