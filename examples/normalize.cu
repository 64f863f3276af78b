/*
operator: normalize
summary: All elements scaled to mean 0 and deviation 1 together.
shape: [n]
example: 268435456
derived:
  most_blocks: 4096
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: n, type: i64, value: n}
  - {name: partial, role: workspace, type: f64, shape: [2*most_blocks]}
  - {name: y, role: output, shape: [n]}
inputs: [normal, uniform01, negative]
cost: [12*n, 5*n]  # x passes twice: it is too large to stay on the chip
reference: two_launches
templates:
  - name: one_launch
    summary: Blocks that run all at once add up their parts, wait for each other, and scale them.
    tunables:
      threads: [256, 512, 1024]
      blocks_per_sm: [1, 2, 4, 8]
      vec: [1, 2, 4]
      unroll: [1, 2, 4]
      backwards: [false, true]
    derived:
      blocks: min(ceil_div(n, threads*vec), sm_count*blocks_per_sm, most_blocks)
    constraints:
      - threads*blocks_per_sm <= 2048
    launch:
      block: [threads]
      grid: [blocks]
      cooperative: true
    default: {threads: 256, blocks_per_sm: 4, vec: 1, unroll: 1, backwards: false}
  - name: two_launches
    summary: One block adds up everything; a thread an element scales it.
    launch:
      - {entry: add_up, block: [1024], grid: [1], arguments: [x, n, partial]}
      - {entry: scale, block: [256], grid: ["ceil_div(n, 256)"]}
*/

#include <cooperative_groups.h>
#include "vector_access.cuh"

// of_block sums a double2 over all threads of a block; all threads get the sums.
__device__ double2 of_block(double2 v) {
    __shared__ double2 of_warp[32];
    const int warps = (blockDim.x + 31) / 32;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        v.x += __shfl_xor_sync(0xffffffffu, v.x, distance);
        v.y += __shfl_xor_sync(0xffffffffu, v.y, distance);
    }
    __syncthreads();  // all threads have read the sums of the call before
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = of_warp[0];
    for (int w = 1; w < warps; ++w) v.x += of_warp[w].x, v.y += of_warp[w].y;
    return v;
}

// The reference consists of two kernels, add_up and scale.
extern "C" __global__ void add_up(const float* __restrict__ x, long long n, double* __restrict__ partial) {
    double2 sum = make_double2(0, 0);
    for (long long i = threadIdx.x; i < n; i += 1024) sum.x += x[i], sum.y += (double)x[i] * x[i];
    sum = of_block(sum);
    if (threadIdx.x == 0) partial[0] = sum.x, partial[1] = sum.y;
}

extern "C" __global__ void scale(const float* __restrict__ x, long long n, const double* __restrict__ partial, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double mean = partial[0] / n, squared = partial[1] / n - mean * mean;
    y[i] = squared > 0 ? (float)((x[i] - mean) / sqrt(squared)) : 0.0f;
}

// one_launch reads the tensor twice; the second pass finds in the L2 what the first pass read last.
//   threads, blocks_per_sm: threads per block, and blocks per multiprocessor
//   vec:                    elements per access; 4 elements are 16 bytes
//   unroll:                 accesses in flight at once
//   backwards:              whether the second pass begins where the first one ended
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
normalize_one_launch(const float* __restrict__ x, long long n, double* __restrict__ partial, float* __restrict__ y) {
    const long long stride = (long long)gridDim.x * THREADS;
    const long long start = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long rounds = (n / VEC + UNROLL * stride - 1) / (UNROLL * stride);
    float v[UNROLL][VEC];
    double2 sum = make_double2(0, 0);
    for (long long round = 0; round < rounds; ++round) {
        const long long i = start + round * UNROLL * stride;
        float near = 0, squares = 0;
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
            for (int k = 0; k < VEC; ++k) v[u][k] = 0;
            if (i + u * stride < n / VEC) load_vector<VEC>(v[u], x + (i + u * stride) * VEC);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int k = 0; k < VEC; ++k) near += v[u][k], squares += v[u][k] * v[u][k];
        sum.x += near, sum.y += squares;
    }
    const float last = start < n % VEC ? x[n - 1 - start] : 0.0f;  // the elements that fill no vector
    sum.x += last, sum.y += (double)last * last;

    sum = of_block(sum);
    double2* sums = reinterpret_cast<double2*>(partial);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    cooperative_groups::this_grid().sync();
    sum = make_double2(0, 0);
    for (int b = threadIdx.x; b < BLOCKS; b += THREADS) {
        const double2 other = __ldcg(sums + b);
        sum.x += other.x, sum.y += other.y;
    }
    sum = of_block(sum);
    const double mean = sum.x / n, squared = sum.y / n - mean * mean;
    const float by = squared > 0 ? (float)(1 / sqrt(squared)) : 0.0f, middle = (float)mean;

    for (long long round = 0; round < rounds; ++round) {
        const long long i = start + (BACKWARDS ? rounds - 1 - round : round) * UNROLL * stride;
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            if (i + u * stride < n / VEC) load_vector<VEC>(v[u], x + (i + u * stride) * VEC);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            if (i + u * stride >= n / VEC) break;
#pragma unroll
            for (int k = 0; k < VEC; ++k) v[u][k] = (v[u][k] - middle) * by;
            store_vector_streaming<VEC>(y + (i + u * stride) * VEC, v[u]);
        }
    }
    if (start < n % VEC) y[n - 1 - start] = (last - middle) * by;
}
