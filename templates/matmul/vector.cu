// matmul, vector: a warp multiplies one row of A by a few columns of B. The kernel is made for a matrix times a
// vector, where reading the matrix is the limit.
//
// Tunables:
//   WARPS:  warps per block
//   UNROLL: loads that a lane has in flight
//   VEC:    elements per load
#include "factor.cuh"
#include "matrix_place.cuh"

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    matmul_vector(const Element* __restrict__ a, const Element* __restrict__ b, const Element* __restrict__ bias,
                  Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    const int lane = threadIdx.x % 32;
    const long long row = (long long)blockIdx.x * WARPS + threadIdx.x / 32;  // counted through all batches
    if (row >= (long long)BATCH * M) return;
    const Element* const left = a + (BATCHES_A > 1 ? row : row % M) * K;
    const Element* const right = b + (BATCHES_B > 1 ? row / M * K * N : 0);

    float sums[N] = {};
    constexpr int kSpan = 32 * VEC, kFull = K / (kSpan * UNROLL) * (kSpan * UNROLL);
    for (int k = lane * VEC; k < kFull; k += kSpan * UNROLL) {
        float v[UNROLL][VEC];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) load_elements<VEC>(v[u], left + k + u * kSpan);
        float some[N] = {};  // short sums, which are then added up: this rounds large sums less often
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int i = 0; i < VEC; ++i)
#pragma unroll
                for (int c = 0; c < N; ++c) {
                    const long long d = k + u * kSpan + i;
                    some[c] += factor(v[u][i]) * factor(read_only(right + (TRANSPOSE_B ? (long long)c * K + d : d * N + c)));
                }
#pragma unroll
        for (int c = 0; c < N; ++c) sums[c] += some[c];
    }
    for (int d = kFull + lane; d < K; d += 32)
#pragma unroll
        for (int c = 0; c < N; ++c)
            sums[c] += factor(to_float(left[d])) * factor(read_only(right + (TRANSPOSE_B ? (long long)c * K + d : (long long)d * N + c)));
#pragma unroll
    for (int c = 0; c < N; ++c) {
        for (int apart = 16; apart > 0; apart /= 2) sums[c] += __shfl_xor_sync(0xffffffffu, sums[c], apart);
        if (lane != 0) continue;
        const float sum = sums[c] + (BIAS ? to_float(bias[c]) : 0.0f);
        y[row * N + c] = from_float<Element>(epilogue.of(sum, matrix_place(row / M, row % M, c)));
    }
}
