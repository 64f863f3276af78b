// place.cuh: coordinates on up to three axes, for convolutions as matrix products.
#pragma once
#include "convolution_place.cuh"

// SizeD, SizeH and SizeW contain the sizes of input and output along an axis, as functions, since a kernel may know
// them only at run time.
#define AXIS_SIZE(X)                                                                  \
    struct Size##X {                                                                  \
        __device__ __forceinline__ static int in() { return X; }                      \
        __device__ __forceinline__ static decltype(X##_OUT) out() { return X##_OUT; } \
    };
AXIS_SIZE(D)
AXIS_SIZE(H)
AXIS_SIZE(W)

// in_volume and out_volume return the number of elements of a channel in the input and in the output.
__device__ __forceinline__ long long in_volume() { return static_cast<long long>(D) * H * W; }
__device__ __forceinline__ long long out_volume() { return static_cast<long long>(D_OUT) * H_OUT * W_OUT; }
constexpr int kKernelVolume = KERNEL_D * KERNEL_H * KERNEL_W;

// ConvolutionWork contains the members that most Works of convolutions share (gemm_tiles.cuh).
struct ConvolutionWork {
    static constexpr int kParts = 1;
    static constexpr bool kMasked = false;
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
    __device__ __forceinline__ static long long outputs() { return out_volume() * C_OUT * N; }
};

// output_place locates a channel's output; `same` is the index of an output with the same image and pixel.
__device__ __forceinline__ ConvolutionPlace output_place(long long output, long long channel, long long same) {
    return {output, channel, C_OUT, out_volume(), CHANNELS_LAST, same};
}

// ConvolutionSums applies the epilogue for sum_splits (split_k.cuh).
struct ConvolutionSums {
    Epilogue epilogue;
    static constexpr bool kIsNone = Epilogue::kIsNone;
    __device__ __forceinline__ static long long side_by_side() { return CHANNELS_LAST ? C_OUT : out_volume(); }
    template <int Count>
    __device__ __forceinline__ void apply(float (&sums)[Count], long long first) const {
        epilogue.apply(sums, output_place(first, CHANNELS_LAST ? first % C_OUT : first / out_volume() % C_OUT, first));
    }
};

// Place splits an index into three coordinates, of which w varies fastest.
struct Place {
    int d, h, w;
    template <class Rows, class Columns>
    __device__ __forceinline__ Place(int index, Rows rows, Columns columns) {
        const int row = index / columns;
        w = index - row * columns, d = row / rows, h = row - d * rows;
    }
};
