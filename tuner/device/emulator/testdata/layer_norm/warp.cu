// layer_norm, warp: the lanes of a warp add up a row and the squares of its distances
// from the first element, which keeps them small.
//
// Tunables
//   warps  rows a block
#include <cuda_fp16.h>
#ifndef ROWS
#define ROWS 4096
#define COLS 4096
#endif
#ifndef WARPS
#define WARPS 4
#endif

__device__ float warp_sum(float v) {
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_xor_sync(0xffffffffu, v, distance);
    return v;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
layer_norm_warp(const __half* __restrict__ x, const float* __restrict__ gain, const float* __restrict__ bias, float epsilon,
                __half* __restrict__ y, float* __restrict__ mean, float* __restrict__ scale) {
    const long long row = (long long)blockIdx.x * WARPS + threadIdx.y;
    if (row >= ROWS) return;
    const __half* from = x + row * COLS;
    const float first = __half2float(from[0]);
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < COLS; c += 32) {
        const float d = __half2float(from[c]) - first;
        sum += d;
        squares += d * d;
    }
    sum = warp_sum(sum) / COLS;
    squares = warp_sum(squares) / COLS;
    const float middle = first + sum, by = rsqrtf(squares - sum * sum + epsilon);
    for (int c = threadIdx.x; c < COLS; c += 32)
        y[row * COLS + c] = __float2half_rn((__half2float(from[c]) - middle) * by * gain[c] + bias[c]);
    if (threadIdx.x > 0) return;
    mean[row] = middle;
    scale[row] = by;
}
