// plain.cuh: an element of a matrix product, computed by its definition, for the reference and the general kernel;
// sums have the type Sum.
#pragma once
#include "epilogue.cuh"
#include "factor.cuh"
#include "triangle.cuh"

template <class Sum, class Sizes, class Finish>
__device__ __forceinline__ Element matmul_plain(const Element* a, const Element* b, const Element* bias, const Sizes& s,
                                                long long i, const Finish& epilogue) {
    const long long column = i % s.n, row = i / s.n % s.m, batch = i / s.n / s.m;
    const Element* left = a + (s.broadcast_a ? 0 : batch) * s.m * s.k + row * (s.transpose_a ? 1 : s.k);
    const Element* right = b + (s.broadcast_b ? 0 : batch) * s.k * s.n + column * (s.transpose_b ? s.k : 1);
    const long long left_step = s.transpose_a ? s.m : 1, right_step = s.transpose_b ? 1 : s.n;

    // Products are summed in groups of 64, which accumulates fewer rounding errors than one long sum.
    Sum total = bias ? to_float(bias[column]) : 0.0f;
    const Part common = in_common(s, {row, row + 1}, {column, column + 1});
    for (long long first = common.first; first < common.end; first += 64) {
        Sum sum = 0;
        for (long long k = first; k < common.end && k < first + 64; ++k)
            sum += Sum(factor(to_float(left[k * left_step]))) * Sum(factor(to_float(right[k * right_step])));
        total += sum;
    }
    return from_float<Element>(epilogue.of((float)total, Coordinates<3>{{batch, row, column}, {1, s.m, s.n}}));
}
