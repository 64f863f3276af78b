// nbody, tiled: arithmetic alone decides. A body that was read from shared memory serves all
// bodies of a thread.
//
// Tunables
//   threads  a block's width, and the bodies of a tile
//   bodies   of a thread: fewer reads, but fewer threads
//   split    threads beside each other take every split-th tile for the same bodies, and
//            add up at the end: more threads where there are few bodies
//   unroll   bodies of a tile between two looks at the loop's end
//   fast     whether the compiler may forget about numbers near 0 and the last bits
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
