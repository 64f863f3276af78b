// few_lines.cuh: what few_rows.cu and few_stream.cu share: steps of k, products of a step, and how sums
// leave. The wide factor's lines are a product's rows, the few lines its columns.
#pragma once
#include "element_mma.cuh"
#include "factor.cuh"
#include "matrix_place.cuh"

constexpr int kOfLane = 16 / sizeof(Element), kStep = 4 * kOfLane;  // elements of k
constexpr int kSums = FEW_BLOCKS * 8;                                // of a wide line
constexpr bool kOnTensorCores = kOf16Bits || MATH_TF32;

// multiply_step adds the two products of a step to the sums of a block of 16 wide lines by eight few ones.
// A lane has 16 bytes of a line: of two lines of the block, and of one of the eight.
__device__ __forceinline__ void multiply_step(float (&sums)[4], const unsigned (&left)[2][4], const unsigned (&right)[4], int s) {
    multiply_elements(sums, {left[0][s], left[1][s], left[0][s + 1], left[1][s + 1]}, {right[s], right[s + 1]});
}

// store_wide_lines adds up the Parts that warps left of the sums of some wide lines, from `first` on. It stores them in
// the order of y. A part has kSums lines of Pitch.
template <int Parts, int Pitch, class T, class Finish>
__device__ __forceinline__ void store_wide_lines(const float* parts, long long first, int lines, int few_lines, long long batch, const Element* bias, T* y,
                                                 const Finish& epilogue, int thread, int threads) {
    for (int i = thread; i < lines * few_lines; i += threads) {
        const int f = FEW_IS_A ? i / lines : i % few_lines, l = FEW_IS_A ? i % lines : i / few_lines;
        const long long row = FEW_IS_A ? f : first + l, column = FEW_IS_A ? first + l : f;
        float sum = bias ? read_only(bias + column) : 0.0f;
#pragma unroll
        for (int part = 0; part < Parts; ++part) sum += parts[(part * kSums + f) * Pitch + l];
        y[(batch * M + row) * N + column] = from_float<T>(epilogue.of(sum, matrix_place(batch, row, column)));
    }
}
