// avg_pool2d, direct: each thread adds up VEC adjacent windows, row after row.
//
//   global -> registers  a window's elements, one by one: neighbouring windows
//                        share lines, which come from L1
//   registers -> global  VEC outputs, as one vector where rows are aligned for it
//
// Windows that hang over the input's edge take a path with bounds checks. Each
// row of a window is added up by itself, which keeps large windows accurate.
//
// Tunables
//   block_x, block_y  threads per block: how much of the input a block shares in L1
//   rows              output rows a thread: more save indexing, fewer leave more
//                     blocks to fill the chip
//   vec               adjacent outputs a thread: wider stores and windows that
//                     share loads, but threads of a warp read further apart
//   unroll            rows of a window in flight at once
#include "vector_access.cuh"

// windows adds up VEC adjacent windows, the first of which starts at input row iy
// and column ix. Inside means that all lie wholly within the input.
template <bool Inside>
__device__ __forceinline__ void windows(float (&sums)[VEC], const float* plane, long long iy, long long ix) {
    constexpr int Unroll = UNROLL; // nvcc does not expand macros in pragmas
#pragma unroll
    for (int v = 0; v < VEC; ++v) sums[v] = 0.0f;
#pragma unroll Unroll
    for (int ky = 0; ky < KERNEL_H; ++ky) {
        const long long row = iy + ky;
        if (!Inside && (row < 0 || row >= H)) continue;
        const long long first = row * W + ix;
        float line[VEC] = {};
#pragma unroll 16
        for (int kx = 0; kx < KERNEL_W; ++kx)
#pragma unroll
            for (int v = 0; v < VEC; ++v) {
                const long long step = (long long)v * STRIDE_W + kx;
                if (Inside || (ix + step >= 0 && ix + step < W)) line[v] += plane[first + step];
            }
#pragma unroll
        for (int v = 0; v < VEC; ++v) sums[v] += line[v];
    }
}

// counted is how many of a window's rows or columns from `begin` on the divisor
// counts: those within the input, and padding if that counts.
__device__ __forceinline__ float counted(long long begin, long long kernel, long long padding, long long size) {
    const long long margin = COUNT_INCLUDE_PAD ? padding : 0;
    const long long first = begin > -margin ? begin : -margin;
    const long long end = begin + kernel < size + margin ? begin + kernel : size + margin;
    return (float)(end - first);
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
avg_pool2d_direct(const float* __restrict__ x, float* __restrict__ y) {
    const unsigned tile_x = blockIdx.x % TILES_X, tile_y = blockIdx.x / TILES_X % TILES_Y;
    const long long plane = blockIdx.x / TILES_X / TILES_Y;
    const long long ox = ((long long)tile_x * BLOCK_X + threadIdx.x) * VEC;
    if (ox >= W_OUT) return;
    const long long ix = ox * STRIDE_W - PADDING_W;
    const bool columns_inside = ix >= 0 && ix + (VEC - 1) * (long long)STRIDE_W + KERNEL_W <= W;

    for (int r = 0; r < ROWS; ++r) {
        const long long oy = ((long long)tile_y * BLOCK_Y + threadIdx.y) * ROWS + r;
        if (oy >= H_OUT) return;
        const long long iy = oy * STRIDE_H - PADDING_H;

        float means[VEC];
        if (columns_inside && iy >= 0 && iy + KERNEL_H <= H) {
            windows<true>(means, x + plane * H * W, iy, ix);
#pragma unroll
            for (int v = 0; v < VEC; ++v) means[v] *= 1.0f / ((float)KERNEL_H * KERNEL_W);
        } else {
            windows<false>(means, x + plane * H * W, iy, ix);
            const float tall = counted(iy, KERNEL_H, PADDING_H, H);
#pragma unroll
            for (int v = 0; v < VEC; ++v)
                means[v] /= tall * counted(ix + (long long)v * STRIDE_W, KERNEL_W, PADDING_W, W);
        }

        float* to = y + (plane * H_OUT + oy) * W_OUT + ox;
#if W_OUT % VEC == 0
        store_vector<VEC>(to, means);
#else
#pragma unroll
        for (int v = 0; v < VEC; ++v)
            if (ox + v < W_OUT) to[v] = means[v];
#endif
    }
}
