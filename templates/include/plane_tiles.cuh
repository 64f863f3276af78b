// plane_tiles.cuh: assigns tiles of output planes to blocks.
//
// The macros TILES_X and TILES_Y are the numbers of tiles of a plane in x and y. APART says whether the grid is
// three-dimensional: x for columns of tiles, y for rows of tiles, z for planes.
#pragma once

// Tile is a block's part of the output: rows and columns of one plane.
struct Tile {
    long long plane;
    int row, column;
};

// tile_of returns the block's tile of rows x columns outputs. Blocks are ordered along the rows, so that blocks which
// read the same input rows find them in the L2.
__device__ __forceinline__ Tile tile_of(int rows, int columns) {
    if (APART) return {(long long)blockIdx.z, (int)blockIdx.y * rows, (int)blockIdx.x * columns};
    const unsigned line = blockIdx.x / TILES_X;
    return {(long long)(line / TILES_Y), (int)(line % TILES_Y) * rows, (int)(blockIdx.x % TILES_X) * columns};
}
