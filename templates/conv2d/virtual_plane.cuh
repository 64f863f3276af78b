// virtual_plane.cuh: the padded input plane in which the tensor-core kernels count pixel positions. The virtual plane
// consists of the input's rows, PITCH apart, each followed by the zeros of its padding, which also serve as the next
// row's padding on the left. In the virtual plane, every tap lies at a constant distance from the output pixel, and so
// does the next output row: a position is a single number.
#pragma once

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }

constexpr int kTaps = KERNEL_H * KERNEL_W;
constexpr int kInPlane = H * W;
constexpr bool kPadded = PADDING_H > 0 || PADDING_W > 0;
constexpr int kRowJump = STRIDE_H * PITCH - STRIDE_W * W_OUT;  // added where an output row ends

// input_offset tells whether a position holds an input element, and returns the element's offset in its plane.
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

// weight_at reads a weight of the group's output channel `out`, or returns 0 for a channel that does not exist.
__device__ __forceinline__ float weight_at(const float* weights, int out, int channel, int tap) {
    return out < C_OUT_GROUP && channel < C_GROUP
               ? __ldg(weights + (static_cast<long long>(out) * C_GROUP + channel) * kTaps + tap)
               : 0.0f;
}
