// matmul by Hopper's wgmma (sm_90a).
//
// A first launch packs A and B: it copies them to a layout that wgmma reads (slab_operands.cuh), rounds elements to
// TF32 or splits them into fp16 values, and pads sizes with zeros. A second launch multiplies (slab_gemm.cuh).
//
// In fp32, each row of A and each column of B is scaled by a power of two into the range of fp16, and outputs are
// divided by these powers (power_scale.cuh). With SCALED = 1, operands in TF32 are stored as one fp16 value, which
// has as many digits.
//
// For matrices of 4096 x 4096, packing takes a fifth of the time in TF32, and less for larger matrices.
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
// For triangular matrices, a tile's k loop covers only the range in which A's rows and B's columns are both nonzero;
// if that range is empty, the loop has a single stage of zeros.
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
