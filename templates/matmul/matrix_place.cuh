// matrix_place.cuh: the coordinates of a matrix product's outputs, for epilogues.
#pragma once
#include "epilogue.cuh"

__device__ __forceinline__ Coordinates<3> matrix_place(long long batch, long long row, long long column) {
    return {{batch, row, column}, {1, M, N}};
}

// MatrixSums applies the epilogue to the sums that sum_splits computes from partial sums (split_k.cuh).
struct MatrixSums {
    Epilogue epilogue;
    static constexpr bool kIsNone = Epilogue::kIsNone;
    __device__ __forceinline__ static long long side_by_side() { return N; }
    template <int Count>
    __device__ __forceinline__ void apply(float (&sums)[Count], long long first) const {
        epilogue.apply(sums, matrix_place(first / N / M, first / N % M, first % N));
    }
};
