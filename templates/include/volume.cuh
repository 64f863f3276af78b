// volume.cuh: the depth axis of sliding windows; window.cuh has the other two axes.
//
// op.yaml defines D, D_OUT, KERNEL_D, STRIDE_D, PADDING_D, DILATION_D and SPAN_D as macros besides those of window.cuh.
// Terms used here:
//
//   volume: a channel of an image: D slices of H rows of W elements.
//   slice:  a plane of a volume.
//   fresh:  the input slices that an output slice adds to those of the output slice before it.
#pragma once
#include "window.cuh"

// HaloSlices counts the slices that the windows of two neighbouring output slices share.
constexpr int HaloSlices = SPAN_D > STRIDE_D ? SPAN_D - STRIDE_D : 0;

// Unfinished counts the further output slices whose windows have begun when the windows of an output slice end.
constexpr int Unfinished = (HaloSlices + STRIDE_D - 1) / STRIDE_D;

// tap_slice returns the slice of the kernel (0 to KERNEL_D - 1) with which the windows of output slice s + r read the
// fresh slice i of output slice s, or -1 if these windows do not read it.
__host__ __device__ constexpr int tap_slice(int i, int r) {
    return HaloSlices + i < r * STRIDE_D || (HaloSlices + i - r * STRIDE_D) % DILATION_D != 0 ||
                   (HaloSlices + i - r * STRIDE_D) / DILATION_D >= KERNEL_D
               ? -1
               : (HaloSlices + i - r * STRIDE_D) / DILATION_D;
}

// slice_is_used tells whether any window reads the fresh slice i: dilation, and strides larger than the window, skip
// slices.
__device__ __forceinline__ bool slice_is_used(int i) {
    bool used = false;
#pragma unroll
    for (int r = 0; r <= Unfinished; ++r) used = used || tap_slice(i, r) >= 0;
    return used;
}

__device__ __forceinline__ bool slice_inside(int slice) { return (unsigned)slice < (unsigned)D; }

// Block is the part of the output that a block computes: some slices, and some rows and columns of them, of one volume.
struct Block {
    long long volume;
    int slice, row, column;
};

// block_of returns the part of the output that block `index` computes: Slices x Rows x Columns outputs. Blocks are
// ordered with columns fastest, so that blocks that share halo rows run at the same time.
template <int Slices, int Rows, int Columns>
__device__ __forceinline__ Block block_of(unsigned index) {
    constexpr unsigned Across = (W_OUT + Columns - 1) / Columns, Down = (H_OUT + Rows - 1) / Rows,
                       Deep = (D_OUT + Slices - 1) / Slices;
    const unsigned plane = index / Across / Down;
    return {(long long)(plane / Deep), (int)(plane % Deep) * Slices, (int)(index / Across % Down) * Rows,
            (int)(index % Across) * Columns};
}
