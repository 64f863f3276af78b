// place.cuh: places in up to three dimensions, for the convolutions as matrix products.
#pragma once

// ConvolutionWork is what most Works of theirs are (gemm_tiles.cuh).
struct ConvolutionWork {
    static constexpr int kParts = 1;
    static constexpr bool kMasked = false;
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
    __device__ __forceinline__ static long long outputs() { return static_cast<long long>(N) * C_OUT * D_OUT * H_OUT * W_OUT; }
};

// Place is three coordinates, taken apart: w the fastest.
struct Place {
    int d, h, w;
    __device__ __forceinline__ Place(int index, int rows, int columns)
        : d(index / (rows * columns)), h(index / columns % rows), w(index % columns) {}
};
