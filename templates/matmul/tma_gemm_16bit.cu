// matmul of bf16 or fp16 on Hopper's warpgroup products (sm_90a) with factors that the copy engine loads by tensor
// maps: nothing is packed or converted, and no thread touches a factor, transposed or not. mapped_operands.cuh explains
// the producer, slab_gemm.cuh the mainloop and the tunables.
#include "element.cuh"
#include "matrix_output.cuh"
#include "mapped_operands.cuh"

namespace {

// LinesOutput is a MatrixTile that stores whole rows: 16 bytes per store, and without going through shared memory.
// LinesOutput does not support triangular outputs.
struct LinesOutput : MatrixTile {
    using MatrixTile::MatrixTile;
    static constexpr int kMixed = kWholeRows;
    __device__ __forceinline__ float2 beside(int column) const {
        return biased ? pair_at(bias, column, N) : make_float2(0.0f, 0.0f);
    }
    __device__ __forceinline__ float value(float sum, int, float bias) const { return BIAS ? sum + bias : sum; }
    __device__ __forceinline__ Stored* line(Stored* y, int row) const {
        return row < M ? y + first + static_cast<long long>(row) * N : nullptr;
    }
    __device__ __forceinline__ void store(Stored* line, int column, const float* words) const {
        store_columns(line, column, N, words);
    }
};

struct Work : MatrixWork {
    typedef MappedOperands Operands;
    typedef LinesOutput Output;
    static constexpr int kStages = (K + kStageDepth - 1) / kStageDepth;
    static constexpr bool kRowsAlongK = !TRANSPOSE_A, kColumnsAlongK = TRANSPOSE_B;
    __device__ __forceinline__ static int rows_of(int group) { return BATCHES_A > 1 ? group : 0; }
    __device__ __forceinline__ static int columns_of(int group) { return BATCHES_B > 1 ? group : 0; }
};

}  // namespace

#if SHARING > 0
extern "C" __global__ void __launch_bounds__(256) matmul_tma_gemm_16bit_clear(float* __restrict__ there) {
    begin_dependents();
    LeftSums::clear(reinterpret_cast<int*>(there), BLOCKS);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_tma_gemm_16bit(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, const Element* __restrict__ bias,
                          Element* __restrict__ y, float* left, float* there TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    mapped_gemm<Work>(memory, {&rows, &columns}, {{TILE_EPILOGUE_ARGUMENTS}, bias}, y,
                                  {left, reinterpret_cast<int*>(there)});
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_tma_gemm_16bit(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, const Element* __restrict__ bias,
                          Stored* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    mapped_gemm<Work>(memory, {&rows, &columns}, {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}
#endif

extern "C" __global__ void __launch_bounds__(256)
    matmul_tma_gemm_16bit_sum(const float* partial_sums, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, MatrixSums{{EPILOGUE_ARGUMENTS}});
}
