// matrix_output.cuh: where slab_gemm.cuh's epilogue puts a matrix product.
#pragma once

struct MatrixOutput {
    typedef const float* Given;  // the bias
    static constexpr int kMixed = 1;
    const float* bias;
    long long first;  // the batch's first output
    bool biased;
    template <class Tile>
    __device__ __forceinline__ MatrixOutput(const Tile& tile, Given given)
        : bias(given), first(static_cast<long long>(tile.group) * M * N), biased(BIAS && tile.split == 0) {}
    __device__ __forceinline__ long long column(int c, int) const { return c < N ? first + c : -1; }
    __device__ __forceinline__ void store(float* y, int row, long long place, float value) const {
        if (row < M) y[place + static_cast<long long>(row) * N] = biased ? value + __ldg(bias + (place - first)) : value;
    }
};
