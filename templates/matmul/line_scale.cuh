// line_scale.cuh: powers of two that bring lines, rows of a and columns of b, into the range of
// fp16 (two_fp16 of slab_operands.cuh), so that products keep fp32's accuracy for a line of any
// magnitude.
//
// Whoever packs a line multiplies it by its power of two and leaves the inverse; outputs are
// multiplied by both inverses (ScaledOutput).
#pragma once
#include "matrix_output.cuh"

constexpr bool kScaled = !MATH_TF32 && !kOf16Bits;

// as_magnitude orders magnitudes as integers; a NaN is larger than all.
__device__ __forceinline__ unsigned as_magnitude(float x) { return __float_as_uint(x) & 0x7fffffffu; }

// LineScale brings a line whose largest magnitude is `most` between 2^14 and 2^15, as far as powers
// of two reach.
struct LineScale {
    float power, inverse;
    __device__ __forceinline__ explicit LineScale(unsigned most) {
        const unsigned exponent = 127 + 14 + 127 - (most >> 23), highest = 127 + 126;  // as floats have them
        power = __uint_as_float((exponent < highest ? exponent : highest) << 23);
        inverse = __uint_as_float((2 * 127 - (exponent < highest ? exponent : highest)) << 23);
    }
};

// ScaledOutput takes the powers of two off again. The smaller inverse comes first: a row and a
// column may be as far apart as floats go, where their product is not.
struct ScaledOutput : MatrixOutput {
    struct Given {
        const Element* bias;
        const float* inverses;  // of all rows, then of all columns
    };
    const float *rows, *columns;  // their inverses
    template <class Tile>
    __device__ __forceinline__ ScaledOutput(const Tile& tile, const Given& given)
        : MatrixOutput(tile, given.bias), rows(given.inverses + (BATCHES_A > 1 ? tile.group * static_cast<long long>(M) : 0)),
          columns(given.inverses + static_cast<long long>(BATCHES_A) * M + (BATCHES_B > 1 ? tile.group * static_cast<long long>(N) : 0)) {}
    template <class Stored>
    __device__ __forceinline__ void store(Stored* y, int row, long long place, float value) const {
        if (kScaled && row < M) {
            const float of_row = __ldg(rows + row), of_column = __ldg(columns + (place - first));
            value *= fminf(of_row, of_column);
            value *= fmaxf(of_row, of_column);
        }
        MatrixOutput::store(y, row, place, value);
    }
};
