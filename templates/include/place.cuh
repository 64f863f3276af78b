// place.cuh: places in up to three dimensions, for the convolutions as matrix products.
#pragma once

// SizeD, SizeH and SizeW have the sizes of input and output along an axis, as functions: a kernel may know
// them only when it runs.
#define AXIS_SIZE(X)                                                                  \
    struct Size##X {                                                                  \
        __device__ __forceinline__ static int in() { return X; }                      \
        __device__ __forceinline__ static decltype(X##_OUT) out() { return X##_OUT; } \
    };
AXIS_SIZE(D)
AXIS_SIZE(H)
AXIS_SIZE(W)

// Elements of a channel.
__device__ __forceinline__ long long in_volume() { return static_cast<long long>(D) * H * W; }
__device__ __forceinline__ long long out_volume() { return static_cast<long long>(D_OUT) * H_OUT * W_OUT; }
constexpr int kKernelVolume = KERNEL_D * KERNEL_H * KERNEL_W;

// ConvolutionWork is what most Works of theirs are (gemm_tiles.cuh).
struct ConvolutionWork {
    static constexpr int kParts = 1;
    static constexpr bool kMasked = false;
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
    __device__ __forceinline__ static long long outputs() { return out_volume() * C_OUT * N; }
};

// Place is three coordinates, taken apart: w the fastest.
struct Place {
    int d, h, w;
    template <class Rows, class Columns>
    __device__ __forceinline__ Place(int index, Rows rows, Columns columns) {
        const int row = index / columns;
        w = index - row * columns, d = row / rows, h = row - d * rows;
    }
};
