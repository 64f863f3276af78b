// volume.cuh: the depth axis of 3-D sliding windows; window.cuh has the other two axes.
//
// Terms used here:
//
//   volume: a channel of an image: D slices of H rows of W elements
//   slice:  an H x W plane of a volume
//   fresh:  the input slices that an output slice reads and the output slice before it does not
#pragma once
#include "window.cuh"

// HaloSlices is the number of slices that the windows of two neighbouring output slices share.
constexpr int HaloSlices = SPAN_D > STRIDE_D ? SPAN_D - STRIDE_D : 0;

// Unfinished is the number of later output slices whose windows overlap the last input slice of an output slice.
constexpr int Unfinished = (HaloSlices + STRIDE_D - 1) / STRIDE_D;

// tap_slice returns the index, in the window of output slice s + r, of the i-th input slice that output slice s adds,
// or -1 if that window does not contain it.
__host__ __device__ constexpr int tap_slice(int i, int r) {
    return HaloSlices + i < r * STRIDE_D || (HaloSlices + i - r * STRIDE_D) % DILATION_D != 0 ||
                   (HaloSlices + i - r * STRIDE_D) / DILATION_D >= KERNEL_D
               ? -1
               : (HaloSlices + i - r * STRIDE_D) / DILATION_D;
}

// slice_is_used tells whether any window reads the i-th new input slice of an output slice: dilation and large
// strides skip slices.
__device__ __forceinline__ bool slice_is_used(int i) {
    bool used = false;
#pragma unroll
    for (int r = 0; r <= Unfinished; ++r) used = used || tap_slice(i, r) >= 0;
    return used;
}

__device__ __forceinline__ bool slice_inside(int slice) { return (unsigned)slice < (unsigned)D; }

// Block is the part of the output that a block computes: a range of slices, rows and columns of one volume.
struct Block {
    long long volume;
    int slice, row, column;
};

// block_of returns the Slices x Rows x Columns outputs of block `index`. Blocks are ordered along the rows, so that
// blocks that read the same input rows run at the same time.
template <int Slices, int Rows, int Columns>
__device__ __forceinline__ Block block_of(unsigned index) {
    constexpr unsigned Across = (W_OUT + Columns - 1) / Columns, Down = (H_OUT + Rows - 1) / Rows,
                       Deep = (D_OUT + Slices - 1) / Slices;
    const unsigned plane = index / Across / Down;
    return {(long long)(plane / Deep), (int)(plane % Deep) * Slices, (int)(index / Across % Down) * Rows,
            (int)(index % Across) * Columns};
}
