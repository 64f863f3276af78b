// matmul on Hopper's warpgroup products (sm_90a).
//
// Idea: a first launch packs both factors, which means that it writes copies in the layout that products need for their
// operands (slab_operands.cuh). Packing rounds elements to TF32, splits them into parts of fp16, or copies 16-bit
// elements unchanged. Only the packing launch handles transposed factors, and it pads all sizes with zeros. The second
// launch is a pipeline between the copy engine and the tensor cores (slab_gemm.cuh).
//
// Two parts of fp16 have a float's accuracy but not its range. In fp32, rows of matrix a and columns of matrix b are
// multiplied by powers of two that bring the largest element of each near 2^15, and outputs are divided by these powers
// (power_scale.cuh). With SCALED = 1, factors in TF32 are stored as one part of fp16, which has as many digits.
//
// The price is writing and reading the packed factors: 16 bytes per element of f32, and 8 bytes per 16-bit element. For
// matrices of 4096 x 4096, packing takes a fifth of the time in TF32, and less for larger matrices.
//
// slab_gemm.cuh explains the tunables.
#include "power_scale.cuh"
#include "compiled_sizes.cuh"
#include "dependent_launch.cuh"
#include "packed_gemm.cuh"
#include "strips.cuh"

namespace {

struct Work : MatrixWork {
    typedef PackedOperands Operands;
    static constexpr int kPlanes = STEPS, kStages = STEPS / DEPTH;
    __device__ __forceinline__ static int groups_a() { return BATCHES_A; }
    __device__ __forceinline__ static int groups_b() { return BATCHES_B; }
    __device__ __forceinline__ static int row_blocks() { return ROW_BLOCKS_IN_ALL; }
    __device__ __forceinline__ static long long columns() { return PACKED_COLUMNS; }
    static_assert(STEPS % DEPTH == 0, "stages have DEPTH steps each");
    __device__ __forceinline__ static int plane(int s) { return s * DEPTH; }
    __device__ __forceinline__ static int shift(int, const Tile&) { return 0; }

    typedef ScaledOutput Output;
};

}  // namespace

#if TRIANGULAR_A || TRIANGULAR_B || TRIANGULAR_OUTPUT
// The stages of a tile cover the part of k that its rows and columns have in common. If row and column ranges have no k
// in common, the tile has a single stage of zeros.
template <>
struct TileStages<Work> {
    __device__ __forceinline__ static Stages of(const Tile& tile) {
        constexpr int depth = DEPTH * kStepDepth;
        const long long row = static_cast<long long>(tile.m) * TILE_M, column = static_cast<long long>(tile.n) * TILE_N;
        const Part common = in_common(Sizes(), {row, row + TILE_M}, {column, column + TILE_N});
        const int end = (common.end + depth - 1) / depth, first = common.first / depth;
        return end > first ? Stages{first, end} : Stages{0, 1};
    }
};
#endif

extern "C" __global__ void __launch_bounds__(kPackers)
    matmul_pipelined_gemm_largest(const Element* __restrict__ a, const Element* __restrict__ b, float* __restrict__ largest) {
    begin_dependents();
    const int block = blockIdx.x;
    if (block < Strip<Rows>::blocks())
        Strip<Rows>(a, block).store_largest(largest);
    else
        Strip<Columns>(b, block - Strip<Rows>::blocks()).store_largest(largest + all_rows() * CHUNKS);
}

extern "C" __global__ void __launch_bounds__(kPackers)
    matmul_pipelined_gemm_pack(const Element* __restrict__ a, const Element* __restrict__ b, const float* largest,
                               float* packed_a, float* packed_b, float* inverses) {
    begin_dependents();
    wait_for_launches();
    const int block = blockIdx.x;
    if (block < Strip<Rows>::blocks())
        Strip<Rows>(a, block).pack(largest, reinterpret_cast<char*>(packed_a), inverses);
    else
        Strip<Columns>(b, block - Strip<Rows>::blocks())
            .pack(largest + all_rows() * CHUNKS, reinterpret_cast<char*>(packed_b), inverses + all_rows());
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_pipelined_gemm(const float* packed_a, const float* packed_b, const float* inverses,
                          const Element* __restrict__ a, const Element* __restrict__ b, const Element* __restrict__ bias,
                          Stored* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    const PackedOperands operands = {reinterpret_cast<const char*>(packed_a), reinterpret_cast<const char*>(packed_b)};
    packed_gemm<Work>(reinterpret_cast<char*>(memory), operands, {{{TILE_EPILOGUE_ARGUMENTS}, bias}, inverses}, y,
                      MatmulPlain{{TILE_EPILOGUE_ARGUMENTS}, a, b, bias});
}

extern "C" __global__ void __launch_bounds__(256)
    matmul_pipelined_gemm_sum(const float* partial_sums, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, MatrixSums{{EPILOGUE_ARGUMENTS}});
}
