// average_volume.cuh: the divisor of a 3-D window's sum, as PyTorch counts it: a fixed one
// if DIVISOR_OVERRIDE is set, else the window's elements, average.cuh's in each direction.
#pragma once
#include "average.cuh"

// average_volume divides the sum of the window of an output by its divisor.
__device__ __forceinline__ float average_volume(float sum, int slice, int row, int column) {
    constexpr float Fixed = DIVISOR_OVERRIDE ? DIVISOR_OVERRIDE : 1;
    if (DIVISOR_OVERRIDE) return sum / Fixed;
    if (every_window_counts_whole(KERNEL_D, STRIDE_D, PADDING_D, D, D_OUT) &&
        every_window_counts_whole(KERNEL_H, STRIDE_H, PADDING_H, H, H_OUT) &&
        every_window_counts_whole(KERNEL_W, STRIDE_W, PADDING_W, W, W_OUT))
        return sum * (1.0f / ((float)KERNEL_D * KERNEL_H * KERNEL_W));
    return sum / ((float)counted(slice * STRIDE_D - PADDING_D, KERNEL_D, D, PADDING_D) *
                  counted(row * STRIDE_H - PADDING_H, KERNEL_H, H, PADDING_H) *
                  counted(column * STRIDE_W - PADDING_W, KERNEL_W, W, PADDING_W));
}
