// place.cuh: places in up to three dimensions, for the convolutions as matrix products.
#pragma once
#include "convolution_place.cuh"

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

// output_place is where a channel's output lies, and `same` one of the same image and place.
__device__ __forceinline__ ConvolutionPlace output_place(long long output, long long channel, long long same) {
    return {output, channel, C_OUT, out_volume(), CHANNELS_LAST, same};
}

// ConvolutionSums are what sum_splits (split_k.cuh) makes outputs of sums with.
struct ConvolutionSums {
    Epilogue epilogue;
    static constexpr bool kIsNone = Epilogue::kIsNone;
    __device__ __forceinline__ static long long side_by_side() { return CHANNELS_LAST ? C_OUT : out_volume(); }
    template <int Count>
    __device__ __forceinline__ void apply(float (&sums)[Count], long long first) const {
        epilogue.apply(sums, output_place(first, CHANNELS_LAST ? first % C_OUT : first / out_volume() % C_OUT, first));
    }
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
