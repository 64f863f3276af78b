// softmax, row: a block keeps a row in registers as floats; its warps agree on the
// maximum and on the sum by shuffles and through shared memory.
//
// Tunables
//   threads  a block's width
//   vec      elements a load and a store: 2 is a pair
#include <cuda_bf16.h>
#ifndef ROWS
#define ROWS 4096
#define COLS 4096
#endif
#ifndef THREADS
#define THREADS 128
#define VEC 1
#define ITEMS 32
#endif

constexpr int Warps = THREADS / 32;
constexpr float Least = -3.402823466e+38f;

template <bool Sum>
__device__ float agree(float v, float* shared) {
    for (int distance = 16; distance > 0; distance /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, distance);
        v = Sum ? v + other : fmaxf(v, other);
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
    __syncthreads();
    v = shared[0];
    for (int w = 1; w < Warps; ++w) v = Sum ? v + shared[w] : fmaxf(v, shared[w]);
    __syncthreads();
    return v;
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_row(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y) {
    __shared__ float shared[Warps];
    const long long row = (long long)blockIdx.x * COLS;
    float v[ITEMS][VEC];
    float greatest = Least, sum = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int column = (i * THREADS + threadIdx.x) * VEC;
        if (column >= COLS) continue;
        if (VEC == 2) {
            const float2 pair = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(x + row + column));
            v[i][0] = pair.x, v[i][VEC - 1] = pair.y;
        } else {
            v[i][0] = __bfloat162float(x[row + column]);
        }
        for (int k = 0; k < VEC; ++k) greatest = fmaxf(greatest, v[i][k]);
    }
    greatest = agree<false>(greatest, shared);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if ((i * THREADS + threadIdx.x) * VEC >= COLS) continue;
        for (int k = 0; k < VEC; ++k) sum += v[i][k] = __expf(v[i][k] - greatest);
    }
    const float scale = 1.0f / agree<true>(sum, shared);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int column = (i * THREADS + threadIdx.x) * VEC;
        if (column >= COLS) continue;
        if (VEC == 2) {
            *reinterpret_cast<__nv_bfloat162*>(y + row + column) = __floats2bfloat162_rn(v[i][0] * scale, v[i][VEC - 1] * scale);
        } else {
            y[row + column] = __float2bfloat16_rn(v[i][0] * scale);
        }
    }
}
