// matrix_output.cuh: how the epilogue of slab_gemm.cuh stores a matrix product, or the product of the transposed
// matrices.
#pragma once
#include "finite.cuh"
#include "matrix_place.cuh"
#include "split_k.cuh"
#include "triangle.cuh"

// MatrixWork contains the members that the Work classes of all matrix products share (gemm_tiles.cuh).
struct MatrixWork {
    static constexpr int kParts = 1;
    static constexpr bool kMasked = kTriangular;
    __device__ __forceinline__ static decltype(BATCH) groups() { return BATCH; }
    __device__ __forceinline__ static long long outputs() { return static_cast<long long>(BATCH) * M * N; }
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
};

struct MatrixTile : TileGiven {
    typedef TileGiven Given;
    int batch;
    long long first;  // the first output of the batch
    bool biased;
    template <class Tile>
    __device__ __forceinline__ MatrixTile(const Tile& tile, const Given& given)
        : TileGiven(given), batch(tile.group), first(static_cast<long long>(tile.group) * M * N),
          biased(BIAS && tile.split == 0) {}
    // place locates an output for epilogues; rows after the last one get the last row's place.
    __device__ __forceinline__ Coordinates<3> place(int row, long long column) const {
        return matrix_place(batch, row < M ? row : M - 1, column);
    }
};

struct MatrixOutput : MatrixTile {
    using MatrixTile::MatrixTile;
    static constexpr int kMixed = 1;
    static constexpr bool kTwo = sizeof(Stored) == 2;  // two outputs are stored as 4 bytes
    __device__ __forceinline__ long long column(int c, int) const { return c < N ? first + c : -1; }
    __device__ __forceinline__ static bool even() { return N % 2 == 0; }
    __device__ __forceinline__ Coordinates<3> place(int row, long long at, long long) const {
        return MatrixTile::place(row, at - first);
    }
    template <class... B>
    __device__ __forceinline__ void store_two(Stored* y, int row, long long place, float2 values, const B&... beside) const {
        const Element* const biases = bias + (place - first);
        const float2 added = biased ? make_float2(read_only(biases), read_only(biases + 1)) : make_float2(0.0f, 0.0f);
        const bool in[2] = {counts(TRIANGULAR_OUTPUT, row, place - first),
                            counts(TRIANGULAR_OUTPUT, row, place - first + 1)};
        float sums[2] = {in[0] ? values.x + added.x : 0.0f, in[1] ? values.y + added.y : 0.0f};
        finish<kTriangular>(*this, sums, {!in[0] || is_finite(values.x), !in[1] || is_finite(values.y)}, beside...);
        if (row < M) store_elements<2>(y + place + static_cast<long long>(row) * N, sums);
    }
    template <class To, class... B>
    __device__ __forceinline__ void store(const To& y, int row, long long place, float value, const B&... beside) const {
        store_made(y, row, place, value, is_finite(value), beside...);
    }

   protected:
    // `finite` says whether the product's sum, from which the value was computed, was finite.
    template <class To, class... B>
    __device__ __forceinline__ void store_made(const To& y, int row, long long place, float value, bool finite,
                                               const B&... beside) const {
        if (row >= M) return;
        if (!counts(TRIANGULAR_OUTPUT, row, place - first)) value = 0.0f, finite = true;
        float sums[1] = {biased ? value + read_only(bias + (place - first)) : value};
        finish<kTriangular>(*this, sums, {finite}, beside...);
        y[place + static_cast<long long>(row) * N] = from_float<Stored>(sums[0]);
    }
};

// TransposedOutput is for a product whose rows are the output's columns.
struct TransposedOutput : MatrixTile {
    using MatrixTile::MatrixTile;
    static constexpr int kMixed = 0;
    static constexpr int kTurns = 1, kRun = 1;
    __device__ __forceinline__ static decltype(M) columns() { return M; }
    __device__ __forceinline__ static bool lacks(int n) { return n >= N; }
    __device__ __forceinline__ Coordinates<3> place(int n, int first_m, int c) const {
        return MatrixTile::place(first_m + c, n < N ? n : N - 1);
    }
    template <class... B>
    __device__ __forceinline__ void store(Stored* y, int n, int first_m, int c, float value, const B&... beside) const {
        const int m = first_m + c;
        if (n < N && m < M) {
            float sums[1] = {biased ? value + read_only(bias + n) : value};
            if constexpr (sizeof...(B) > 0) apply(sums, beside...);
            y[first + static_cast<long long>(m) * N + n] = from_float<Stored>(sums[0]);
        }
    }
};
