// average.cuh: the divisor of an average pool, as in PyTorch: DIVISOR (divisor_override) if it is set, otherwise the
// number of elements in the window.
//
// With COUNT_INCLUDE_PAD, padding counts as elements of the window, but the overhang that ceil_mode allows does not.
#pragma once

// counted returns how many elements of the window [first, first + kernel) contribute to the divisor along one axis.
__device__ __forceinline__ int counted(int first, int kernel, int size, int padding) {
    const int from = COUNT_INCLUDE_PAD ? first : max(first, 0);
    const int to = min(first + kernel, COUNT_INCLUDE_PAD ? size + padding : size);
    return to - from;
}

// every_window_counts_whole tells whether, along one axis, all elements of every window contribute to the divisor.
__device__ constexpr bool every_window_counts_whole(int kernel, int stride, int padding, int size, int outputs) {
    return (COUNT_INCLUDE_PAD || padding == 0) &&
           (outputs - 1) * stride - padding + kernel <= size + padding;
}

__device__ __forceinline__ float average(float sum, int slice, int row, int column) {
    constexpr float Fixed = DIVISOR ? DIVISOR : 1;
    if (DIVISOR) return sum / Fixed;
    if (every_window_counts_whole(KERNEL_D, STRIDE_D, PADDING_D, D, D_OUT) &&
        every_window_counts_whole(KERNEL_H, STRIDE_H, PADDING_H, H, H_OUT) &&
        every_window_counts_whole(KERNEL_W, STRIDE_W, PADDING_W, W, W_OUT))
        return sum * (1.0f / ((float)KERNEL_D * KERNEL_H * KERNEL_W));
    return sum / ((float)counted(slice * STRIDE_D - PADDING_D, KERNEL_D, D, PADDING_D) *
                  counted(row * STRIDE_H - PADDING_H, KERNEL_H, H, PADDING_H) *
                  counted(column * STRIDE_W - PADDING_W, KERNEL_W, W, PADDING_W));
}
