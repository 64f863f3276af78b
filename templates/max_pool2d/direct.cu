// max_pool2d, direct: each thread takes the maxima of VEC adjacent windows, row
// after row.
//
//   global -> registers  a window's elements, one by one: neighbouring windows
//                        overlap, and their elements come from L1
//   registers -> global  VEC outputs, as one vector where rows are aligned for it
//
// Windows that hang over the input's edge take a path with bounds checks.
//
// Tunables
//   block_x, block_y  threads per block: how much of the input a block shares in L1
//   rows              output rows a thread: more save indexing, fewer leave more
//                     blocks to fill the chip
//   vec               adjacent outputs a thread: wider stores and windows that
//                     share loads, but threads of a warp read further apart
//   unroll            rows of a window in flight at once
#include "limits.cuh"
#include "vector_access.cuh"

// windows takes the maxima of VEC adjacent windows, the first of which starts at
// input row iy and column ix. Inside means that all lie wholly within the input.
template <bool Inside>
__device__ __forceinline__ void windows(float (&maxima)[VEC], const float* plane, long long iy, long long ix) {
    constexpr int Unroll = UNROLL; // nvcc does not expand macros in pragmas
#pragma unroll
    for (int v = 0; v < VEC; ++v) maxima[v] = negative_infinity();
#pragma unroll Unroll
    for (int ky = 0; ky < KERNEL_H; ++ky) {
        const long long row = iy + (long long)ky * DILATION_H;
        if (!Inside && (row < 0 || row >= H)) continue;
        const long long first = row * W + ix;
#pragma unroll 16
        for (int kx = 0; kx < KERNEL_W; ++kx)
#pragma unroll
            for (int v = 0; v < VEC; ++v) {
                const long long step = (long long)v * STRIDE_W + (long long)kx * DILATION_W;
                if (!Inside && (ix + step < 0 || ix + step >= W)) continue;
                const float value = plane[first + step];
                if (value > maxima[v] || value != value) maxima[v] = value; // a NaN stays
            }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
max_pool2d_direct(const float* __restrict__ x, float* __restrict__ y) {
    const unsigned tile_x = blockIdx.x % TILES_X, tile_y = blockIdx.x / TILES_X % TILES_Y;
    const long long plane = blockIdx.x / TILES_X / TILES_Y;
    const long long ox = ((long long)tile_x * BLOCK_X + threadIdx.x) * VEC;
    if (ox >= W_OUT) return;
    const long long ix = ox * STRIDE_W - PADDING_W;
    const bool columns_inside = ix >= 0 && ix + (VEC - 1) * (long long)STRIDE_W + SPAN_W <= W;

    for (int r = 0; r < ROWS; ++r) {
        const long long oy = ((long long)tile_y * BLOCK_Y + threadIdx.y) * ROWS + r;
        if (oy >= H_OUT) return;
        const long long iy = oy * STRIDE_H - PADDING_H;

        float maxima[VEC];
        if (columns_inside && iy >= 0 && iy + SPAN_H <= H)
            windows<true>(maxima, x + plane * H * W, iy, ix);
        else
            windows<false>(maxima, x + plane * H * W, iy, ix);

        float* to = y + (plane * H_OUT + oy) * W_OUT + ox;
#if W_OUT % VEC == 0
        store_vector<VEC>(to, maxima);
#else
#pragma unroll
        for (int v = 0; v < VEC; ++v)
            if (ox + v < W_OUT) to[v] = maxima[v];
#endif
    }
}
