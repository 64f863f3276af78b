// matmul, tiled: a block accumulates TILE_M x TILE_N outputs in registers, and reads A and B through shared memory
// (on CUDA cores, any GPU).
//
// Tunables:
//   TILE_M, TILE_N: outputs of a block of 256 threads
//   DEPTH:          elements of k in shared memory at once
#include "compiled_sizes.cuh"
#include "limits.cuh"
#include "matrix_place.cuh"

namespace {

constexpr int kThreads = 256, kAcross = 16;  // threads side by side, and one below the other
constexpr int kRows = TILE_M / kAcross, kColumns = TILE_N / kAcross;  // of a thread, kAcross apart

// load_tile loads Lines rows of A, or columns of B, into shared memory with coalesced accesses. Elements outside of a
// triangular matrix's triangle become zeros.
template <int Lines, bool Contiguous, int Triangle>
__device__ __forceinline__ void load_tile(float (&tile)[DEPTH][Lines + 1], const Element* from, int first, int lines, int k) {
    for (int i = threadIdx.x; i < Lines * DEPTH; i += kThreads) {
        const int line = Contiguous ? i / DEPTH : i % Lines, depth = Contiguous ? i % DEPTH : i / Lines;
        const long long l = first + line, d = k + depth;
        const bool inside = l < lines && d < K && counts(Triangle, l, d);
        tile[depth][line] = inside ? factor(to_float(from[Contiguous ? l * K + d : d * lines + l])) : 0.0f;
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    matmul_tiled(const Element* __restrict__ a, const Element* __restrict__ b, const Element* __restrict__ bias,
                 Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    __shared__ float rows[DEPTH][TILE_M + 1], columns[DEPTH][TILE_N + 1];
    const int across = (N + TILE_N - 1) / TILE_N, down = (M + TILE_M - 1) / TILE_M;
    const int first_column = blockIdx.x % across * TILE_N, first_row = blockIdx.x / across % down * TILE_M;
    const long long batch = blockIdx.x / across / down;
    const int x = threadIdx.x % kAcross, z = threadIdx.x / kAcross;
    const Element* const left_matrix = BATCHES_A > 1 ? a + batch * M * K : a;
    const Element* const right_matrix = BATCHES_B > 1 ? b + batch * K * N : b;

    float sums[kRows][kColumns] = {};
    const Part common = in_common(Sizes(), {first_row, first_row + TILE_M}, {first_column, first_column + TILE_N});
    for (int k = common.first / DEPTH * DEPTH; k < common.end; k += DEPTH) {
        load_tile<TILE_M, !TRANSPOSE_A, TRIANGULAR_A>(rows, left_matrix, first_row, M, k);
        load_tile<TILE_N, TRANSPOSE_B, -(TRIANGULAR_B)>(columns, right_matrix, first_column, N, k);
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            float left[kRows], right[kColumns];
#pragma unroll
            for (int i = 0; i < kRows; ++i) left[i] = rows[d][z + i * kAcross];
#pragma unroll
            for (int j = 0; j < kColumns; ++j) right[j] = columns[d][x + j * kAcross];
#pragma unroll
            for (int i = 0; i < kRows; ++i)
#pragma unroll
                for (int j = 0; j < kColumns; ++j) sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
        const int row = first_row + z + i * kAcross;
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
            const int column = first_column + x + j * kAcross;
            if (row >= M || column >= N) continue;
            const long long place = (batch * M + row) * N + column;
            const float sum = sums[i][j] + (BIAS ? to_float(bias[column]) : 0.0f);
            y[place] = from_float<Element>(epilogue.of(counts(TRIANGULAR_OUTPUT, row, column) ? sum : 0.0f,
                                                       matrix_place(batch, row, column)));
            // If an output is not finite, a zero outside of a triangle may have been multiplied by an infinity, so
            // the output is computed again.
            if (kTriangular && !is_finite(sum)) y[place] = MatmulPlain{epilogue, a, b, bias}(place);
        }
    }
}
