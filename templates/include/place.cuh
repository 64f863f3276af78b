// place.cuh: places in up to three dimensions, for the convolutions as matrix products.
#pragma once

// Place is three coordinates, taken apart: w the fastest.
struct Place {
    int d, h, w;
    __device__ __forceinline__ Place(int index, int rows, int columns)
        : d(index / (rows * columns)), h(index / columns % rows), w(index % columns) {}
};
