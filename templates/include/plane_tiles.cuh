// plane_tiles.cuh: which part of which plane a block computes.
//
// Macros used besides the problem's sizes are values that op.yaml derives: TILES_X and TILES_Y, the number of tiles of
// a plane side by side and below each other; APART, whether the grid's x, y and z dimensions are the columns, rows and
// planes of tiles.
#pragma once

// Tile is a block's part of the output: rows and columns of one plane.
struct Tile {
    long long plane;
    int row, column;
};

// tile_of returns the block's tile of rows x columns outputs. Blocks are ordered with columns fastest, so that
// neighbouring blocks share the halo rows in L2. The grid has three dimensions (APART), or one if the number of tiles
// exceeds the limits of the grid.
__device__ __forceinline__ Tile tile_of(int rows, int columns) {
    if (APART) return {(long long)blockIdx.z, (int)blockIdx.y * rows, (int)blockIdx.x * columns};
    const unsigned line = blockIdx.x / TILES_X;
    return {(long long)(line / TILES_Y), (int)(line % TILES_Y) * rows, (int)(blockIdx.x % TILES_X) * columns};
}
