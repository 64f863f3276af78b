/*
operator: nbody
summary: The acceleration of each body by all others, softened.
shape: [n]
example: 16384
tensors:
  - {name: bodies, role: input, shape: [n, 4], fill: "uniform(0, 1)"}  # x, y, z, mass
  - {name: softening, type: f32, value: 1e-3}
  - {name: acceleration, role: output, shape: [n, 3], atol: 1e-6*n}
inputs: [uniform01]  # the bodies have a fill of their own
cost: {bytes: 28*n, flops: 20*n*n}
templates:
  - name: tiled
    summary: A block's threads take a tile of bodies at a time from shared memory.
    tunables:
      threads: [16, 32, 64, 128, 256]
      bodies: [1, 2, 4]
      split: [1, 2, 4, 8]
      unroll: [1, 4, 16, 32]
    constraints:
      - unroll <= threads
    launch:
      block: [threads, split, 1]
      grid: ["ceil_div(n, threads*bodies)", 1, 1]
    default: {threads: 256, bodies: 1, split: 1, unroll: 1}
*/

extern "C" __global__ void nbody_reference(const float* __restrict__ bodies, float softening, float* __restrict__ acceleration) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 3ll * N) return;
    const float* me = bodies + i / 3 * 4;
    double sum = 0;
    for (long long j = 0; j < N; ++j) {
        const float* other = bodies + j * 4;
        const double dx = (double)other[0] - me[0], dy = (double)other[1] - me[1], dz = (double)other[2] - me[2];
        const double squared = dx * dx + dy * dy + dz * dz + softening;
        sum += other[3] * ((double)other[i % 3] - me[i % 3]) / (squared * sqrt(squared));
    }
    acceleration[i] = (float)sum;
}

// tiled: arithmetic alone decides. A body that was read from shared memory serves all
// bodies of a thread.
//   threads  a block's width, and the bodies of a tile
//   bodies   of a thread: fewer reads, but fewer threads
//   split    threads beside each other take every split-th tile for the same bodies, and
//            add up at the end: more threads where there are few bodies
//   unroll   bodies of a tile between two looks at the loop's end
extern "C" __global__ void __launch_bounds__(THREADS * SPLIT)
nbody_tiled(const float4* __restrict__ bodies, float softening, float* __restrict__ acceleration) {
    __shared__ float4 tile[SPLIT][THREADS];
    constexpr int Unroll = UNROLL;
    const long long first = (long long)blockIdx.x * THREADS * BODIES + threadIdx.x;
    float4 me[BODIES];
    float3 sum[BODIES];
#pragma unroll
    for (int b = 0; b < BODIES; ++b) {
        const long long i = first + b * THREADS;
        me[b] = i < N ? bodies[i] : make_float4(0, 0, 0, 0);
        sum[b] = make_float3(0, 0, 0);
    }
    for (long long start = 0; start < N; start += THREADS * SPLIT) {
        const long long j = start + threadIdx.y * THREADS + threadIdx.x;
        tile[threadIdx.y][threadIdx.x] = j < N ? bodies[j] : make_float4(0, 0, 0, 0);  // no mass pulls nobody
        __syncthreads();
#pragma unroll Unroll
        for (int t = 0; t < THREADS; ++t) {
            const float4 other = tile[threadIdx.y][t];
#pragma unroll
            for (int b = 0; b < BODIES; ++b) {
                const float dx = other.x - me[b].x, dy = other.y - me[b].y, dz = other.z - me[b].z;
                const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
                const float pull = other.w * inverse * inverse * inverse;
                sum[b].x += dx * pull;
                sum[b].y += dy * pull;
                sum[b].z += dz * pull;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int b = 0; b < BODIES; ++b) {
        tile[threadIdx.y][threadIdx.x] = make_float4(sum[b].x, sum[b].y, sum[b].z, 0);
        __syncthreads();
        const long long i = first + b * THREADS;
        if (threadIdx.y == 0 && i < N) {
            for (int s = 1; s < SPLIT; ++s) {
                const float4 other = tile[s][threadIdx.x];
                sum[b].x += other.x;
                sum[b].y += other.y;
                sum[b].z += other.z;
            }
            acceleration[i * 3] = sum[b].x;
            acceleration[i * 3 + 1] = sum[b].y;
            acceleration[i * 3 + 2] = sum[b].z;
        }
        __syncthreads();
    }
}
