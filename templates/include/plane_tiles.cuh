// plane_tiles.cuh: which part of which plane a block has.
//
// The macros, beside the problem's sizes, are what op.yaml derives: TILES_X and TILES_Y, how many tiles
// lie beside and below each other in a plane; APART, whether blocks are so in the grid.
#pragma once

// Tile is a block's part of the output: rows and columns of one plane.
struct Tile {
    long long plane;
    int row, column;
};

// tile_of gives a block its tile of rows x columns outputs, columns fastest, so that
// neighbouring blocks share the halo rows in L2. Blocks are in the grid as tiles are in the tensor,
// or in a line where a grid is too small for that.
__device__ __forceinline__ Tile tile_of(int rows, int columns) {
    if (APART) return {(long long)blockIdx.z, (int)blockIdx.y * rows, (int)blockIdx.x * columns};
    const unsigned line = blockIdx.x / TILES_X;
    return {(long long)(line / TILES_Y), (int)(line % TILES_Y) * rows, (int)(blockIdx.x % TILES_X) * columns};
}
