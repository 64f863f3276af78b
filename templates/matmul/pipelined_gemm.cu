// matmul on Hopper's warpgroup products (sm_90a).
//
// The idea. A first launch writes both factors anew, rounded (or split into parts of
// bf16) and in the order that products take their operands in (slab_operands.cuh); it
// alone knows whether they are transposed, and zeros fill up what is not a multiple of
// anything. The second is a pipeline between the copy engine and the tensor cores
// (slab_gemm.cuh).
//
// It costs the factors' way to memory and back, 16 bytes an element: at 4096^3 a fifth of
// the time in TF32, an eighth with three products of bf16; less for larger matrices.
//
// What the tunables trade is told in slab_gemm.cuh.
#include "problem.cuh"
#ifndef COLUMNS
#define ARRANGEMENT stacked
#define COLUMNS 256
#define DEPTH 2
#define PACKED_COLUMNS 4608
#define PACK_ROW_BLOCKS 8192
#define PLANES 2
#define ROW_BLOCKS 1
#define ROW_BLOCKS_IN_ALL 64
#define SHARED_BYTES 217152
#define SPAN 256
#define SPLITS 1
#define STAGES 4
#define STEPS 256
#define THREADS 384
#define TILES_M 32
#define TILES_N 16
#define TILE_M 128
#define TILE_N 256
#endif
#include "matrix_output.cuh"
#include "packed_operands.cuh"
#include "vector_access.cuh"

namespace {

// pack reads eight elements of k of a line, a row of a or a column of b, and hands them to
// store(line, step, half, values). Contiguous: a line's elements lie side by side, and
// neighbouring threads take the halves of neighbouring lines; else lines lie side by side,
// and neighbouring threads take those.
template <bool Contiguous, int Lines, int PaddedLines, class Store>
__device__ __forceinline__ void pack(const float* from, long long item, const Store& store) {
    static_assert(PaddedLines % 16 == 0, "sixteen lines at a time");
    const int half = Contiguous ? item % 2 : item / PaddedLines % 2;
    const int step = Contiguous ? item / 32 % STEPS : item / (2 * PaddedLines) % STEPS;
    const int line = Contiguous ? item / (32ll * STEPS) * 16 + item / 2 % 16 : item % PaddedLines;
    const long long k = step * 16 + half * 8;
    constexpr int width = Contiguous && K % 4 == 0 ? 4 : 1;  // of a load
    float v[8] = {};
#pragma unroll
    for (int i = 0; i < 8; i += width) {
        if (line >= Lines || k + i >= K) break;
        const float* const at = from + (Contiguous ? line * static_cast<long long>(K) + k + i : (k + i) * Lines + line);
        load_vector<width>(v + i, at);
    }
    store(line, step, half, v);
}

constexpr int kPaddedRows = ROW_BLOCKS_IN_ALL * kBlockRows, kPaddedColumns = (N + 15) / 16 * 16;
constexpr long long kRowItems = 2ll * STEPS * kPaddedRows, kColumnItems = 2ll * STEPS * kPaddedColumns;  // of a batch
static_assert(kPaddedColumns <= PACKED_COLUMNS, "op.yaml and the kernel differ");

struct RowStore {
    char* packed;  // of the batch
    __device__ __forceinline__ void operator()(int line, int step, int half, const float (&v)[8]) const {
        const long long block = line / kBlockRows;
        store_half(packed + (block * STEPS + step) * kBlockStepBytes + line % kBlockRows * 16, kBlockRows * 16, half, v);
    }
};

struct ColumnStore {
    char* packed;
    __device__ __forceinline__ void operator()(int line, int step, int half, const float (&v)[8]) const {
        constexpr long long apart = PACKED_COLUMNS * 16ll;
        store_half(packed + step * 4 * apart + line * 16, apart, half, v);
    }
};

struct Work {
    typedef PackedOperands Operands;
    static constexpr int kGroups = BATCH, kParts = 1, kRowBlocks = ROW_BLOCKS_IN_ALL, kTilesM = TILES_M, kTilesN = TILES_N;
    static constexpr int kPlanes = STEPS, kStages = STEPS / DEPTH;
    static constexpr long long kColumns = PACKED_COLUMNS, kOutputs = static_cast<long long>(BATCH) * M * N;
    static_assert(STEPS % DEPTH == 0, "stages have DEPTH steps each");
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
    __device__ __forceinline__ static int plane(int s) { return s * DEPTH; }
    __device__ __forceinline__ static int shift(int, const Tile&) { return 0; }

    typedef MatrixOutput Output;
};

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    matmul_pipelined_gemm_pack(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ packed_a,
                               float* __restrict__ packed_b) {
    const long long batch = blockIdx.y;
    if (blockIdx.x < PACK_ROW_BLOCKS) {
        const long long item = blockIdx.x * 256ll + threadIdx.x;
        const RowStore store = {reinterpret_cast<char*>(packed_a) + batch * ROW_BLOCKS_IN_ALL * STEPS * kBlockStepBytes};
        if (item < kRowItems) pack<!TRANSPOSE_A, M, kPaddedRows>(a + batch * M * K, item, store);
    } else {
        const long long item = (blockIdx.x - PACK_ROW_BLOCKS) * 256ll + threadIdx.x;
        const ColumnStore store = {reinterpret_cast<char*>(packed_b) + batch * STEPS * 4 * PACKED_COLUMNS * 16};
        if (item < kColumnItems) pack<TRANSPOSE_B, N, kPaddedColumns>(b + batch * K * N, item, store);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_pipelined_gemm(const float* __restrict__ packed_a, const float* __restrict__ packed_b,
                          const float* __restrict__ bias, float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    const PackedOperands operands = {reinterpret_cast<const char*>(packed_a), reinterpret_cast<const char*>(packed_b)};
    packed_gemm<Work>(reinterpret_cast<char*>(memory), operands, bias, y);
}

extern "C" __global__ void __launch_bounds__(256) matmul_pipelined_gemm_sum(const float* __restrict__ partial_sums, float* __restrict__ y) {
    sum_splits<Work::kOutputs>(partial_sums, y);
}
