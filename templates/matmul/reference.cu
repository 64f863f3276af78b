// matmul, reference: sums are in double. A thread computes eight outputs of a column, which share the elements of B.
//
// In math mode tf32, both operands are rounded to TF32 before they are multiplied.
#include "compiled_sizes.cuh"
#include "matrix_place.cuh"

constexpr int kEach = kTriangular ? 1 : 8; // rows; in triangles, each row has another range of k

extern "C" __global__ void matmul_reference(const Element* __restrict__ a, const Element* __restrict__ b,
                                            const Element* __restrict__ bias, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    const Sizes s;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, parts = (s.m + kEach - 1) / kEach;
    if (i >= BATCH * parts * s.n) return;
    if constexpr (kEach == 1) {
        y[i] = matmul_plain<double>(a, b, BIAS ? bias : nullptr, s, i, epilogue);
        return;
    }
    const long long column = i % s.n, first = i / s.n % parts * kEach, batch = i / s.n / parts;
    const Element* right = b + (s.broadcast_b ? 0 : batch) * s.k * s.n + column * (s.transpose_b ? s.k : 1);
    const long long left_step = s.transpose_a ? s.m : 1, right_step = s.transpose_b ? 1 : s.n;
    const Element* left[kEach];
    long long rows[kEach]; // the last row repeats if there are no more
    double totals[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        rows[e] = first + e < s.m ? first + e : s.m - 1;
        left[e] = a + (s.broadcast_a ? 0 : batch) * s.m * s.k + rows[e] * (s.transpose_a ? 1 : s.k);
        totals[e] = BIAS ? to_float(bias[column]) : 0.0f;
    }
    // Products are summed in groups of 64, as in plain.cuh.
    for (long long from = 0; from < s.k; from += 64) {
        double sums[kEach] = {};
        for (long long k = from; k < s.k && k < from + 64; ++k) {
            const double shared = factor(to_float(right[k * right_step]));
#pragma unroll
            for (int e = 0; e < kEach; ++e) sums[e] += double(factor(to_float(left[e][k * left_step]))) * shared;
        }
#pragma unroll
        for (int e = 0; e < kEach; ++e) totals[e] += sums[e];
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e)
        y[(batch * s.m + rows[e]) * s.n + column] =
            from_float<Element>(epilogue.of((float)totals[e], matrix_place(batch, rows[e], column)));
}
