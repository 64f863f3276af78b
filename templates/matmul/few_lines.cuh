// few_lines.cuh: the common parts of few_rows.cu and few_stream.cu, for products of a small matrix (A with few rows,
// or B with few columns) and a large one. `Line` in names stands for a row of A or a column of B. The large matrix
// provides the rows of each mma.sync, the small one the columns.
#pragma once
#include "element_mma.cuh"
#include "factor.cuh"
#include "matrix_place.cuh"

constexpr int kOfLane = 16 / sizeof(Element), kStep = 4 * kOfLane;  // elements of k
constexpr int kSums = FEW_BLOCKS * 8;                                // of a wide line
constexpr bool kOnTensorCores = kOf16Bits || MATH_TF32;

// multiply_step multiplies 16 rows (columns) of the large matrix by eight of the small one, by two mma.sync
// instructions.
__device__ __forceinline__ void multiply_step(float (&sums)[4], const unsigned (&left)[2][4], const unsigned (&right)[4], int s) {
    multiply_elements(sums, {left[0][s], left[1][s], left[0][s + 1], left[1][s + 1]}, {right[s], right[s + 1]});
}

// store_wide_lines adds up the partial sums of Parts warps and stores the outputs. Each partial sum is a matrix of
// kSums rows of Pitch floats.
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
