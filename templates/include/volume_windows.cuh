// volume_windows.cuh: 3-D pooling in which a thread reduces the windows of VEC adjacent outputs, one after the other.
//
// The outputs are numbered as one flat sequence, so that no thread is idle even if slices are small. A row of the
// windows is read as vectors if rows are aligned; the caches serve elements that neighbouring threads share.
#pragma once
#include "guarded_span.cuh"
#include "pooling.cuh"
#include "volume.cuh"

// RowsAhead and SlicesAhead are unroll factors of the loops over a window's rows and slices.
constexpr int RowsAhead = UNROLL < KERNEL_H ? UNROLL : KERNEL_H;
constexpr int SlicesAhead = UNROLL / KERNEL_H > KERNEL_D ? KERNEL_D : UNROLL / KERNEL_H > 1 ? UNROLL / KERNEL_H : 1;

// reduce_row reduces one row of each of VEC windows; the first window begins at column `left` + LEAD.
template <class Reduction>
__device__ __forceinline__ void reduce_row(float (&reduced)[VEC], const Element* row, long long left, bool inside) {
    if constexpr (SPAN <= 64 && KERNEL_W <= 32 && W < 0x7fffff00LL) { // which the compiler unrolls in full
        float span[SPAN];
        load_guarded_span<true>(span, row + left, 0, (int)left, inside, Reduction::nothing());
#pragma unroll
        for (int v = 0; v < VEC; ++v) reduced[v] = reduce_across<Reduction>(span + LEAD + v * STRIDE_W);
    } else {
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
            reduced[v] = Reduction::nothing();
#pragma unroll 8
            for (int k = 0; k < KERNEL_W; ++k) {
                const long long column = left + LEAD + (long long)v * STRIDE_W + (long long)k * DILATION_W;
                if (inside && column >= 0 && column < W) reduced[v] = Reduction::join(reduced[v], to_float(row[column]));
            }
        }
    }
}

template <class Pool>
__device__ __forceinline__ void pool_windows(const Element* x, Element* y, const Epilogue& epilogue) {
    constexpr long long Across = (W_OUT + VEC - 1LL) / VEC, Groups = (long long)N * C * D_OUT * H_OUT * Across;
    const long long group = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (group >= Groups) return;
    const long long plane = group / Across / H_OUT; // of the output
    const long long column = group % Across * VEC, row = group / Across % H_OUT, slice = plane % D_OUT;
    const Element* volume = x + plane / D_OUT * ((long long)D * H * W);
    const long long front = slice * STRIDE_D - PADDING_D, top = row * STRIDE_H - PADDING_H,
                    left = column * STRIDE_W - PADDING_W - LEAD;

    float windows[VEC];
#pragma unroll
    for (int v = 0; v < VEC; ++v) windows[v] = Pool::nothing();
#pragma unroll SlicesAhead
    for (int kd = 0; kd < KERNEL_D; ++kd) {
        const long long its_slice = front + (long long)kd * DILATION_D;
#pragma unroll RowsAhead
        for (int kh = 0; kh < KERNEL_H; ++kh) {
            const long long its_row = top + (long long)kh * DILATION_H;
            const bool inside = its_slice >= 0 && its_slice < D && its_row >= 0 && its_row < H;
            float reduced[VEC];
            reduce_row<Pool>(reduced, volume + (its_slice * H + its_row) * W, left, inside);
#pragma unroll
            for (int v = 0; v < VEC; ++v) windows[v] = Pool::join(windows[v], reduced[v]);
        }
    }

    constexpr int Vector = W_OUT % VEC == 0 ? VEC : 1;
    Element* to = y + group / Across * W_OUT + column;
    finish_row<Pool>(windows, epilogue, plane / D_OUT, slice, row, column);
#pragma unroll
    for (int v = 0; v < VEC; v += Vector)
        if (column + v < W_OUT) store_elements<Vector>(to + v, windows + v);
}
