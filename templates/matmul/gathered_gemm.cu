// matmul by Hopper's wgmma (sm_90a), with operands A and B in their original layout: no launch packs them first. In
// fp32, operands are split into three bf16 values, which have the range of a float and need no scaling.
// gathered_operands.cuh explains when this kernel pays, slab_gemm.cuh the mainloop and the tunables.
#include "matrix_output.cuh"
#include "gathered_operands.cuh"

namespace {

struct Factors {
    const float *a, *b;
};

struct Work : MatrixWork {
    static constexpr int kStages = (K + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth);

    typedef Factors Operands;
    struct Rows : MatrixLines<!TRANSPOSE_A, K> {
        __device__ __forceinline__ Rows(const Factors& factors, const Tile& tile)
            : MatrixLines<!TRANSPOSE_A, K>{factors.a + (BATCHES_A > 1 ? static_cast<long long>(tile.group) * M * K : 0), M} {}
    };
    struct Columns : MatrixLines<TRANSPOSE_B, K> {
        __device__ __forceinline__ Columns(const Factors& factors, const Tile& tile)
            : MatrixLines<TRANSPOSE_B, K>{factors.b + (BATCHES_B > 1 ? static_cast<long long>(tile.group) * K * N : 0), N} {}
    };
    typedef MatrixOutput Output;
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_gathered_gemm(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
                         float* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    slab_gemm<Work, Gatherers>(reinterpret_cast<char*>(memory), Factors{a, b}, {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    matmul_gathered_gemm_sum(const float* partial_sums, float* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, MatrixSums{{EPILOGUE_ARGUMENTS}});
}
