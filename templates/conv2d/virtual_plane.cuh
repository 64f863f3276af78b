// virtual_plane.cuh: the plane that the tensor-core kernels count pixels in: the
// input's rows, PITCH apart, each followed by the zeros of the padding, which serve
// as the next row's padding before it, too. There every tap is a constant away from
// the pixel, and so is the next output row: positions are single numbers.
#pragma once

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }

constexpr int kTaps = KERNEL_H * KERNEL_W;
constexpr int kInPlane = H * W;
constexpr bool kPadded = PADDING_H > 0 || PADDING_W > 0;
constexpr int kRowJump = STRIDE_H * PITCH - STRIDE_W * W_OUT;  // what passing an output row's end adds

// input_offset tells whether a position holds input, and where in its plane.
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

// weight_at reads a weight of the group's output channel `out`, 0 where there is none.
__device__ __forceinline__ float weight_at(const float* weights, int out, int channel, int tap) {
    return out < C_OUT_GROUP && channel < C_GROUP
               ? __ldg(weights + (static_cast<long long>(out) * C_GROUP + channel) * kTaps + tap)
               : 0.0f;
}
