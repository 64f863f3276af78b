// plane_windows.cuh: each thread reduces the windows of VEC adjacent outputs of a plane, row after row.
//
// The macros used here are the problem's sizes and the tunables BLOCK_X, BLOCK_Y, ROWS, VEC and UNROLL.
//
//   plane_windows(x, y, windows)    computes a block's outputs; `windows` has two functions:
//
//   windows.reduce<Inside>(outputs, plane, row, column)    reduces the windows that begin at (row, column);
//                                                          Inside: all lie wholly within the input.
//   windows.finish(outputs, row, column)                   turns the reduced windows into outputs.
#pragma once
#include "element.cuh"
#include "plane_tiles.cuh"

__device__ __forceinline__ Tile tile_of_block() { return tile_of(BLOCK_Y * ROWS, BLOCK_X * VEC); }

// down_windows calls visit(k, first) for each row k of the windows that lies in the input; `first` is the index of
// the first window's leftmost element in that row.
template <bool Inside, class Visit>
__device__ __forceinline__ void down_windows(long long row, long long column, Visit visit) {
    constexpr int Unroll = UNROLL; // nvcc does not expand macros in pragmas
#pragma unroll Unroll
    for (int k = 0; k < KERNEL_H; ++k) {
        const long long its_row = row + (long long)k * DILATION_H;
        if (!Inside && (its_row < 0 || its_row >= H)) continue;
        visit(k, its_row * W + column);
    }
}

// across_windows calls visit(k, v, step) for each window v and each element k of its row that lies in the input.
// `step` is the distance in columns from the first window's leftmost element.
template <bool Inside, class Visit>
__device__ __forceinline__ void across_windows(long long column, Visit visit) {
#pragma unroll 16
    for (int k = 0; k < KERNEL_W; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
            const long long step = (long long)v * STRIDE_W + (long long)k * DILATION_W;
            if (Inside || (column + step >= 0 && column + step < W)) visit(k, v, step);
        }
}

template <class Windows>
__device__ __forceinline__ void plane_windows(const Element* x, Element* y, const Windows& windows) {
    const Tile tile = tile_of_block();
    const long long plane = tile.plane, ox = tile.column + threadIdx.x * VEC;
    if (ox >= W_OUT) return;
    const long long ix = ox * STRIDE_W - PADDING_W;
    const bool columns_inside = ix >= 0 && ix + (VEC - 1) * (long long)STRIDE_W + SPAN_W <= W;

    for (int r = 0; r < ROWS; ++r) {
        const long long oy = tile.row + threadIdx.y * ROWS + r;
        if (oy >= H_OUT) return;
        const long long iy = oy * STRIDE_H - PADDING_H;

        float outputs[VEC];
        if (columns_inside && iy >= 0 && iy + SPAN_H <= H)
            windows.template reduce<true>(outputs, x + plane * H * W, iy, ix);
        else
            windows.template reduce<false>(outputs, x + plane * H * W, iy, ix);
        windows.finish(outputs, oy, ox);

        Element* to = y + (plane * H_OUT + oy) * W_OUT + ox;
        if (W_OUT % VEC == 0) {
            store_elements<VEC>(to, outputs);
        } else {
#pragma unroll
            for (int v = 0; v < VEC; ++v)
                if (ox + v < W_OUT) to[v] = from_float<Element>(outputs[v]);
        }
    }
}
