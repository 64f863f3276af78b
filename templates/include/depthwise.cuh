// depthwise.cuh: depthwise convolutions in which all threads of a block share the weights of one channel. A thread
// computes VEC neighbouring outputs per row.
#pragma once
#include "convolution_place.cuh"
#include "window.cuh"

// Weights holds the kernel of one channel, in registers if it is small, otherwise in shared memory.
struct Weights {
    static constexpr bool InRegisters = KERNEL_H * KERNEL_W <= 32;
    float taps[InRegisters ? KERNEL_H * KERNEL_W : 1];
    const float* shared;

    // load loads a channel's kernel into registers, or into the shared memory `staged`. All threads of the block must
    // call load.
    template <int Threads>
    __device__ __forceinline__ void load(float* staged, const Element* weight, int channel, int thread) {
        const Element* from = weight + channel * (KERNEL_H * KERNEL_W);
        shared = staged;
        if constexpr (InRegisters) {
#pragma unroll
            for (int k = 0; k < KERNEL_H * KERNEL_W; ++k) taps[k] = read_only(from + k);
        } else {
#pragma unroll 1
            for (int k = thread; k < KERNEL_H * KERNEL_W; k += Threads) staged[k] = to_float(from[k]);
            __syncthreads();
        }
    }
    __device__ __forceinline__ float operator[](int k) const {
        if constexpr (InRegisters)
            return taps[k];
        else
            return shared[k];
    }
};

// add_row multiplies a row of inputs by row `tap` of the kernel and adds the products to VEC neighbouring outputs.
__device__ __forceinline__ void add_row(float (&outputs)[VEC], const float* span, const Weights& weights, int tap) {
#pragma unroll
    for (int k = 0; k < KERNEL_W; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) outputs[v] += weights[tap * KERNEL_W + k] * span[v * STRIDE_W + k * DILATION_W];
}

// Outputs applies the epilogue to a thread's sums, with operands loaded in advance if they fit in registers.
struct Outputs {
    static constexpr bool kAhead = !Epilogue::kIsNone && ROWS * VEC <= 32;
    Epilogue epilogue;
    long long plane;
    int column;
    Epilogue::Loaded<VEC, RowPlace> beside[kAhead ? ROWS : 1];

    __device__ __forceinline__ void load(int row) {
        if constexpr (kAhead)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) beside[r] = epilogue.load<VEC>(place(row + r));
    }
    __device__ __forceinline__ void finish(float (&sums)[VEC], int row, int r) const {
        if constexpr (kAhead)
            epilogue.apply(sums, beside[r]);
        else if constexpr (!Epilogue::kIsNone)
            epilogue.apply(sums, place(row + r));
    }
    __device__ __forceinline__ RowPlace place(int row) const { return {plane, C, row, H_OUT, column, W_OUT}; }
};

// join_span adds an input row to all output rows whose windows contain it, and calls ended(r) for each row r that it
// completes.
template <int Rows, class Ended>
__device__ __forceinline__ void join_span(float (&sums)[Rows][VEC], const float* from, int i, const Weights& weights,
                                          float bias, Ended ended) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const int tap = tap_row(i, r);
        if (tap < 0) continue;
        if (tap == 0)
#pragma unroll
            for (int v = 0; v < VEC; ++v) sums[r][v] = bias;
        add_row(sums[r], from, weights, tap);
        if (tap == KERNEL_H - 1) ended(r);
    }
}
