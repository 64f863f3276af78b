// depthwise.cuh: depthwise convolutions in which a block's threads share the weights of one channel. The tunable VEC is
// the number of neighbouring outputs that a thread computes.
#pragma once
#include "convolution_place.cuh"
#include "window.cuh"

// Weights holds a channel's kernel: a small one in registers, a large one in
// shared memory.
struct Weights {
    static constexpr bool InRegisters = KERNEL_H * KERNEL_W <= 32;
    float taps[InRegisters ? KERNEL_H * KERNEL_W : 1];
    const float* shared;

    // load loads a channel's kernel into registers, or into `staged` if it belongs in shared memory. Every thread of
    // the block must call load.
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

// add_row adds the products of a span of inputs with row `tap` of the kernel to
// VEC neighbouring outputs.
__device__ __forceinline__ void add_row(float (&outputs)[VEC], const float* span, const Weights& weights, int tap) {
#pragma unroll
    for (int k = 0; k < KERNEL_W; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) outputs[v] += weights[tap * KERNEL_W + k] * span[v * STRIDE_W + k * DILATION_W];
}

// Outputs turns a thread's sums into outputs, one of its ROWS output rows at a time. Outputs loads the epilogue's
// elements in advance if they take few registers, so that a thread waits for memory once and not once per row.
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

// join_span adds row i of a band to VEC neighbouring outputs of each output row whose windows contain it. The window of
// the first output begins at `from`, in a span of row i. join_span calls ended(r) for every output row r that row i
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
