// matrix_output.cuh: where slab_gemm.cuh's epilogue puts a matrix product, or the
// transposed one's.
#pragma once
#include "activated.cuh"
#include "split_k.cuh"
#include "triangle.cuh"

// MatrixWork is what the Works of matrix products share (gemm_tiles.cuh).
struct MatrixWork {
    static constexpr int kParts = 1;
    static constexpr bool kMasked = kTriangular;
    __device__ __forceinline__ static decltype(BATCH) groups() { return BATCH; }
    __device__ __forceinline__ static long long outputs() { return static_cast<long long>(BATCH) * M * N; }
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
};

struct MatrixOutput {
    typedef const Element* Given;  // the bias
    static constexpr int kMixed = 1;
    static constexpr bool kTwo = sizeof(Leaving) == 2;  // as 4 bytes
    const Element* bias;
    long long first;  // the batch's first output
    bool biased;
    template <class Tile>
    __device__ __forceinline__ MatrixOutput(const Tile& tile, Given given)
        : bias(given), first(static_cast<long long>(tile.group) * M * N), biased(BIAS && tile.split == 0) {}
    __device__ __forceinline__ long long column(int c, int) const { return c < N ? first + c : -1; }
    __device__ __forceinline__ static bool even() { return N % 2 == 0; }
    __device__ __forceinline__ void store_two(Leaving* y, int row, long long place, float2 values) const {
        const float2 added = biased ? make_float2(read_only(bias + (place - first)), read_only(bias + (place - first) + 1)) : make_float2(0.0f, 0.0f);
        const float sums[2] = {counts(TRIANGULAR_OUTPUT, row, place - first) ? values.x + added.x : 0.0f,
                               counts(TRIANGULAR_OUTPUT, row, place - first + 1) ? values.y + added.y : 0.0f};
        if (row < M) store_elements<2>(y + place + static_cast<long long>(row) * N, sums);
    }
    template <class To>
    __device__ __forceinline__ void store(const To& y, int row, long long place, float value) const {
        if (row >= M) return;
        if (!counts(TRIANGULAR_OUTPUT, row, place - first)) value = 0.0f;
        y[place + static_cast<long long>(row) * N] = from_float<Leaving>(biased ? value + read_only(bias + (place - first)) : value);
    }
};

// TransposedOutput is of a product whose rows are the output's columns.
struct TransposedOutput {
    typedef const Element* Given;
    static constexpr int kMixed = 0;
    const Element* bias;
    long long first;
    bool biased;
    template <class Tile>
    __device__ __forceinline__ TransposedOutput(const Tile& tile, Given given)
        : bias(given), first(static_cast<long long>(tile.group) * M * N), biased(BIAS && tile.split == 0) {}
    template <class Stored>
    __device__ __forceinline__ void store(Stored* y, int n, int first_m, int c, float value) const {
        const int m = first_m + c;
        if (n < N && m < M) y[first + static_cast<long long>(m) * N + n] = from_float<Stored>(biased ? value + read_only(bias + n) : value);
    }
};
