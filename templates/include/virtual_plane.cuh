// virtual_plane.cuh: a convolution's sizes, and the plane its kernels count pixels
// in: the input's rows, each followed by the zeros of the padding, which serve as
// the next row's padding before it, too. There every tap is a constant away from
// the pixel, and so is the next output row: positions are single numbers.
//
// A kernel that includes this file has the problem's sizes defined as macros.
#pragma once

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int round_up(int a, int b) { return ceil_div(a, b) * b; }
__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }

constexpr int kTaps = KERNEL_H * KERNEL_W;
constexpr int kInGroup = C / GROUPS;       // input channels that an output channel sees
constexpr int kOutGroup = C_OUT / GROUPS;  // output channels that see the same ones
constexpr int kInPlane = H * W;
constexpr int kOutPlane = H_OUT * W_OUT;

constexpr bool kPadded = PADDING_H > 0 || PADDING_W > 0;
constexpr int kPitch = PADDING_W > 0 ? round_up(W + PADDING_W, 4) : W;  // of the virtual plane's rows
constexpr int kRowJump = STRIDE_H * kPitch - STRIDE_W * W_OUT;          // what passing an output row's end adds
constexpr int kTapReach = (KERNEL_H - 1) * DILATION_H;                  // rows between the first tap and the last

// input_offset tells whether a position holds input, and where in its plane.
__device__ __forceinline__ bool input_offset(int position, int& offset) {
    if (!kPadded) {
        offset = position;
        return static_cast<unsigned>(position) < kInPlane;
    }
    constexpr int rows_before = PADDING_H + 1;
    const int shifted = position + rows_before * kPitch;
    const int row = shifted / kPitch - rows_before;
    const int column = shifted % kPitch;
    offset = row * W + column;
    return row >= 0 && row < H && column < W;
}
