// compiled_sizes.cuh: the problem's sizes as compile-time constants, in a struct for plain.cuh.
#pragma once
#include "plain.cuh"

struct Sizes {
    long long m = M, k = K, n = N;
    static constexpr bool transpose_a = TRANSPOSE_A, transpose_b = TRANSPOSE_B, broadcast_a = BROADCAST_A, broadcast_b = BROADCAST_B;
    static constexpr int triangular_a = TRIANGULAR_A, triangular_b = TRIANGULAR_B, triangular_output = TRIANGULAR_OUTPUT;
};

struct MatmulPlain : TileEpilogue {
    const Element *a, *b, *bias;
    __device__ __forceinline__ Element operator()(long long i) const {
        return matmul_plain<float>(a, b, BIAS ? bias : nullptr, Sizes(), i, *this);
    }
};
