// scaled_output.cuh: where slab_gemm.cuh's epilogue puts a product of factors in parts of fp16.
// Lines, rows of a and columns of b, have a power of two each (power_scale.cuh). So products keep
// their accuracy for a line of any magnitude; here the powers are taken off again.
#pragma once
#include "matrix_output.cuh"
#include "power_scale.cuh"

struct ScaledOutput : MatrixOutput {
    struct Given {
        TileGiven plain;
        const float* inverses;  // of all rows, then of all columns
    };
    const float *rows, *columns;  // their inverses
    template <class Tile>
    __device__ __forceinline__ ScaledOutput(const Tile& tile, const Given& given)
        : MatrixOutput(tile, given.plain), rows(given.inverses + (BATCHES_A > 1 ? tile.group * static_cast<long long>(M) : 0)),
          columns(given.inverses + static_cast<long long>(BATCHES_A) * M + (BATCHES_B > 1 ? tile.group * static_cast<long long>(N) : 0)) {}
    template <class To, class... B>
    __device__ __forceinline__ void store(const To& y, int row, long long place, float value, const B&... beside) const {
        const bool finite = is_finite(value);
        if (kScaled && row < M) value = unscaled(value, __ldg(rows + row), __ldg(columns + (place - first)));
        store_made(y, row, place, value, finite, beside...);
    }
};
