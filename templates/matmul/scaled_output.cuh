// scaled_output.cuh: the epilogue of slab_gemm.cuh for operands that are split into fp16 values. ScaledOutput divides
// each output by the powers of two that scaled its row of A and its column of B (power_scale.cuh).
#pragma once
#include "matrix_output.cuh"
#include "power_scale.cuh"

struct ScaledOutput : MatrixOutput {
    struct Given {
        TileGiven plain;
        const float* inverses;  // of all rows, then of all columns
    };
    const float *rows, *columns;  // inverses of the powers of the product's rows and columns
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
