// matmul by Hopper's wgmma (sm_90a), with operands that TMA loads and rounds to TF32: nothing is packed first.
// mapped_operands.cuh explains the producer, slab_gemm.cuh the mainloop and the tunables.
//
// TMA rounds ties to even, so this kernel is only for math mode tf32_even. wgmma needs TF32 operands that are
// contiguous along k; if B is not, the kernel computes the transposed product (SWAPPED).
#include "matrix_output.cuh"
#include "mapped_operands.cuh"

namespace {

// row_batches and column_batches return the number of batches of the product's operands A and B, or B and A if
// SWAPPED.
__device__ __forceinline__ int row_batches() { return SWAPPED ? BATCHES_B : BATCHES_A; }
__device__ __forceinline__ int column_batches() { return SWAPPED ? BATCHES_A : BATCHES_B; }

struct Work : MatrixWork {
    typedef MappedOperands Operands;
    static constexpr int kStages = (K + kStageDepth - 1) / kStageDepth;
    static constexpr bool kRowsAlongK = ROWS_ALONG_K, kColumnsAlongK = true;
    __device__ __forceinline__ static int rows_of(int group) { return row_batches() > 1 ? group : 0; }
    __device__ __forceinline__ static int columns_of(int group) { return column_batches() > 1 ? group : 0; }
#if SWAPPED
    typedef TransposedOutput Output;
#else
    typedef MatrixOutput Output;
#endif
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_tma_gemm(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, const float* __restrict__ bias,
                    float* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    mapped_gemm<Work>(memory, {&rows, &columns}, {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    matmul_tma_gemm_sum(const float* partial_sums, float* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, MatrixSums{{EPILOGUE_ARGUMENTS}});
}
