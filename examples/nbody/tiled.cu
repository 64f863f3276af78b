// nbody, tiled: blocks stage tiles of bodies in shared memory. A thread applies each body that it reads to several
// bodies in registers, so that its speed is limited by arithmetic, not by memory.
//
// Tunables:
//   threads: threads in a block's x dimension, and bodies per tile
//   bodies:  bodies per thread
//   split:   threads that share the same bodies: each takes every split-th tile
//   unroll:  bodies of a tile per loop iteration
//   fast:    whether the compiler may use fast, less accurate arithmetic
#ifndef N
#define N 16384
#endif
#ifndef THREADS
#define THREADS 128
#define BODIES 1
#define SPLIT 1
#define UNROLL 4
#endif

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
        tile[threadIdx.y][threadIdx.x] = j < N ? bodies[j] : make_float4(0, 0, 0, 0);  // no mass attracts no body
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
