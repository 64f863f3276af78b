/*
operator: softmax_long
summary: Softmax of each row of a matrix of bfloat16, for rows too long for one block.
shape: [rows, cols]
example: 4096x131072
tensors:
  - {name: x, role: input, type: bf16, shape: [rows, cols]}
  - {name: y, role: output, type: bf16, shape: [rows, cols], tolerance: [1e-6]}
inputs: [normal, uniform01, negative]
cost: [4*rows*cols, 4*rows*cols]
templates:
  - name: clustered
    summary: The blocks of a cluster share a row, which stays in their registers, and read of each other's shared memory.
    when: arch >= 90
    tunables:
      cluster: [1, 2, 4, 8]
      threads: [128, 256, 512, 1024]
      vec: [1, 2, 4, 8]
      blocks_per_sm: [1, 2, 3, 4]
    derived:
      items: ceil_div(cols, cluster*threads*vec)
    constraints:
      - cols % vec == 0
      - items*vec <= 64
      - threads*blocks_per_sm <= 2048
    launch:
      block: [threads]
      grid: [cluster, rows]
      cluster: [cluster]
    default: {cluster: 8, threads: 512, vec: 1, blocks_per_sm: 1}
*/

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include "limits.cuh"
#include "row.cuh"

namespace cg = cooperative_groups;

// One thread of a block computes a whole row.
extern "C" __global__ void softmax_long_reference(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y) {
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    x += row * COLS;
    y += row * COLS;
    double greatest = __bfloat162float(x[0]), sum = 0;
    for (int c = 1; c < COLS; ++c) greatest = fmax(greatest, (double)__bfloat162float(x[c]));
    for (int c = 0; c < COLS; ++c) sum += exp(__bfloat162float(x[c]) - greatest);
    for (int c = 0; c < COLS; ++c) y[c] = __double2bfloat16(exp(__bfloat162float(x[c]) - greatest) / sum);
}

// The kernel `clustered` reads and writes each element once. A cluster of blocks computes a row, whose elements stay
// in registers as bfloat16. The blocks exchange only their maxima and sums.
//   cluster:       blocks per row
//   threads:       threads per block
//   vec:           elements per access; 8 elements are 16 bytes
//   blocks_per_sm: blocks per multiprocessor for which the compiler limits registers
constexpr float Least = -3.402823466e+38f;  // with -infinity, -infinity - -infinity would be NaN

// both merges the softmax states of two parts of a row: x is the maximum, y the sum of exponentials relative to it.
__device__ __forceinline__ float2 both(float2 a, float2 b) {
    const float greatest = fmaxf(a.x, b.x);
    return make_float2(greatest, a.y * __expf(a.x - greatest) + b.y * __expf(b.x - greatest));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
softmax_long_clustered(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y) {
    __shared__ float2 own;  // of this block; the other blocks of the cluster read it
    x += (long long)blockIdx.y * COLS;
    y += (long long)blockIdx.y * COLS;
    const int first = (blockIdx.x * THREADS + threadIdx.x) * VEC;
    constexpr int Step = CLUSTER * THREADS * VEC;
    Run<__nv_bfloat16, VEC> in[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (first + i * Step < COLS) {
            in[i] = load_run<VEC>(x + first + i * Step);
        } else {
#pragma unroll
            for (int k = 0; k < VEC; ++k) in[i].at[k] = __float2bfloat16_rn(negative_infinity());
        }
    }
    float2 all = make_float2(Least, 0);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
        for (int k = 0; k < VEC; ++k) all.x = fmaxf(all.x, __bfloat162float(in[i].at[k]));
    all.x = over_row<THREADS, 1>(all.x, Greatest());
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
        for (int k = 0; k < VEC; ++k) all.y += __expf(__bfloat162float(in[i].at[k]) - all.x);
    all.y = over_row<THREADS, 1>(all.y, Sum());

    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) own = all;
    cluster.sync();
    all = *cluster.map_shared_rank(&own, 0);
#pragma unroll
    for (int block = 1; block < CLUSTER; ++block) all = both(all, *cluster.map_shared_rank(&own, block));
    cluster.sync();  // a block's shared memory must not end before others have read it
    const float less = all.x + __logf(all.y);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        Run<__nv_bfloat16, VEC> out;
#pragma unroll
        for (int k = 0; k < VEC; ++k) out.at[k] = __float2bfloat16_rn(__expf(__bfloat162float(in[i].at[k]) - less));
        if (first + i * Step < COLS) store_run<VEC>(y + first + i * Step, out);
    }
}
