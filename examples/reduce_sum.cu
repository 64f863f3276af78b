/*
operator: reduce_sum
summary: The sum of all elements.
shape: [n]
example: 268435456
derived:
  most_blocks: 4096
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: n, type: i64, value: n}
  - {name: partial, role: workspace, shape: [most_blocks]}
  - {name: y, role: output, shape: [1], tolerance: [1e-6 + 1e-9*n, 1e-5]}
inputs: [uniform01, normal, negative]
cost: [4*n, n]
reference: one_block
templates:
  - name: two_launches
    summary: Blocks stride over the elements and leave a sum each; a second launch adds these up.
    tunables:
      threads: [128, 256, 512, 1024]
      vec: [1, 2, 4]
      unroll: [1, 2, 4, 8]
      blocks_per_sm: [1, 2, 4, 8, 16]
    derived:
      blocks: min(ceil_div(n, threads*vec*unroll), sm_count*blocks_per_sm, most_blocks)
    constraints:
      - threads*blocks_per_sm <= 2048
    launch:
      - {entry: partial_sums, block: [threads], grid: [blocks], arguments: [x, n, partial]}
      - {entry: total, block: [256], grid: [1], arguments: [partial, y]}
    default: {threads: 256, vec: 1, unroll: 1, blocks_per_sm: 8}
  - name: one_block
    summary: One block adds up all elements in double precision.
    launch:
      block: [1024]
      grid: [1]
*/

#include "vector_access.cuh"

// of_block sums the values of a block's threads; thread 0 gets the sum.
template <int Threads, class T>
__device__ T of_block(T v) {
    __shared__ T of_warp[Threads / 32];
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(0xffffffffu, v, distance);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    T sum = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < Threads / 32; ++w) sum += of_warp[w];
    return sum;
}

// reduce_sum_one_block is the reference kernel: one block computes the sum.
extern "C" __global__ void reduce_sum_one_block(const float* __restrict__ x, long long n, float* __restrict__ partial, float* __restrict__ y) {
    double sum = 0;
    for (long long i = threadIdx.x; i < n; i += 1024) sum += x[i];
    sum = of_block<1024>(sum);
    if (threadIdx.x == 0) y[0] = (float)sum;
}

// two_launches: the first launch computes one partial sum per block, and the second launch adds up the partial sums.
//   threads:       threads per block
//   vec:           elements per access; 4 elements are 16 bytes
//   unroll:        accesses that a thread has in flight at once
//   blocks_per_sm: blocks per multiprocessor
extern "C" __global__ void __launch_bounds__(THREADS) partial_sums(const float* __restrict__ x, long long n, float* __restrict__ partial) {
    const long long stride = (long long)gridDim.x * THREADS;
    const long long start = (long long)blockIdx.x * THREADS + threadIdx.x;
    float sums[VEC] = {};
    for (long long i = start; i < n / VEC; i += UNROLL * stride) {
        float v[UNROLL][VEC] = {};
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            if (i + u * stride < n / VEC) load_vector<VEC>(v[u], x + (i + u * stride) * VEC);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int k = 0; k < VEC; ++k) sums[k] += v[u][k];
    }
    if (start < n % VEC) sums[0] += x[n - 1 - start];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < VEC; ++k) sum += sums[k];
    sum = of_block<THREADS>(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

extern "C" __global__ void total(const float* __restrict__ partial, float* __restrict__ y) {
    double sum = 0;
    for (int i = threadIdx.x; i < BLOCKS; i += 256) sum += partial[i];
    sum = of_block<256>(sum);
    if (threadIdx.x == 0) y[0] = (float)sum;
}
