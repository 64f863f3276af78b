// conv1d on Hopper's warpgroup products, for any problem (sm_90a): packed_conv.cuh has
// the idea and the way of the data, slab_gemm.cuh the mainloop and what the tunables trade.
#include "problem.cuh"
#ifndef COLUMNS
#define ARRANGEMENT pingpong
#define CHANNELS 128
#define CHUNKS 8
#define COLUMNS 256
#define DEPTH 1
#define FOLD_H 0
#define FOLD_W 0
#define LEAD_W 0
#define MERGE 1
#define PACKED_POSITIONS 256520
#define PERIOD_W 1
#define PHASES_W 1
#define PLANES 1
#define POSITIONS_W 16000
#define ROW_BLOCKS 1
#define ROW_BLOCKS_IN_ALL 2
#define SCALED 0
#define SHARED_BYTES 122960
#define SPAN 256
#define SPLITS 1
#define STAGES 5
#define STEP_W 1
#define TAPS_W 3
#define THREADS 384
#define TILES_M 2
#define TILES_N 1000
#define TILE_M 64
#define TILE_N 256
#endif
#define TRANSPOSED 0
#include "one_row.cuh"
#include "packed_conv.cuh"

extern "C" __global__ void __launch_bounds__(512)
    conv1d_pipelined_gemm_largest(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ scales) {
    packed_conv_largest(x, weight, scales);
}

extern "C" __global__ void __launch_bounds__(256)
    conv1d_pipelined_gemm_pack(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ scales,
                               float* __restrict__ packed_x, float* __restrict__ packed_weight) {
    packed_conv_pack(x, weight, scales, packed_x, packed_weight);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv1d_pipelined_gemm(const float* __restrict__ packed_x, const float* __restrict__ packed_weight, const float* __restrict__ scales,
                          const Element* __restrict__ bias, Stored* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    packed_conv_gemm(packed_x, packed_weight, {bias, scales}, y, memory);
}

extern "C" __global__ void __launch_bounds__(256) conv1d_pipelined_gemm_sum(const float* __restrict__ partial_sums, Element* __restrict__ y) {
    sum_splits<Work::kOutputs>(partial_sums, y);
}
