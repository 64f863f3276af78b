// virtual_plane.cuh: numbers the pixels of the padded input. Input rows are PITCH pixels apart; the zeros after a row
// serve as the row's padding on the right and as the next row's padding on the left. Moving to the next tap, or to
// the next output row, adds a constant to a pixel's number.
#pragma once

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }

constexpr int kTaps = KERNEL_H * KERNEL_W;
constexpr int kInPlane = H * W;
constexpr bool kPadded = PADDING_H > 0 || PADDING_W > 0;
constexpr int kRowJump = STRIDE_H * PITCH - STRIDE_W * W_OUT;  // added where an output row ends

// input_offset tells whether a pixel of the padded input is an input element, and returns the element's offset.
__device__ __forceinline__ bool input_offset(int position, int& offset) {
    if (!kPadded) {
        offset = position;
        return static_cast<unsigned>(position) < kInPlane;
    }
    constexpr int rows_before = PADDING_H + 1;
    const int shifted = position + rows_before * PITCH;
    const int row = shifted / PITCH - rows_before;
    const int column = shifted % PITCH;
    offset = row * W + column;
    return row >= 0 && row < H && column < W;
}

// weight_at returns a weight of output channel `out`, or 0 if the channel does not exist.
__device__ __forceinline__ float weight_at(const float* weights, int out, int channel, int tap) {
    return out < C_OUT_GROUP && channel < C_GROUP
               ? __ldg(weights + (static_cast<long long>(out) * C_GROUP + channel) * kTaps + tap)
               : 0.0f;
}
