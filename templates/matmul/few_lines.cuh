// few_lines.cuh: the common parts of few_rows.cu and few_stream.cu: the steps of k, the products of a step, and how
// sums are stored. A line is a row of matrix a or a column of matrix b. The lines of the wide factor are the rows of a
// tensor-core product, the few lines of the other factor are its columns.
#pragma once
#include "element_mma.cuh"
#include "factor.cuh"
#include "matrix_place.cuh"

constexpr int kOfLane = 16 / sizeof(Element), kStep = 4 * kOfLane;  // elements of k
constexpr int kSums = FEW_BLOCKS * 8;                                // of a wide line
constexpr bool kOnTensorCores = kOf16Bits || MATH_TF32;

// multiply_step adds two products of a step to the sums of 16 lines of the wide factor by eight lines of the other
// factor. A lane holds 16 bytes each of two of the wide factor's lines, and of one of the other factor's eight lines.
__device__ __forceinline__ void multiply_step(float (&sums)[4], const unsigned (&left)[2][4], const unsigned (&right)[4], int s) {
    multiply_elements(sums, {left[0][s], left[1][s], left[0][s + 1], left[1][s + 1]}, {right[s], right[s + 1]});
}

// store_wide_lines adds up the Parts partial sums that warps have stored for `lines` lines of the wide factor, from
// `first` on, and stores the outputs in the order of y. Each partial sum is a matrix of kSums rows of Pitch floats.
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
