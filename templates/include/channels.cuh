// channels.cuh: pools and depthwise convolutions on channels-last images. A thread computes SLICES x ROWS x COLUMNS
// output pixels of VEC neighbouring channels.
//
// Neighbouring threads compute neighbouring channels, so that global accesses are coalesced. A thread loads each input
// pixel once and adds it to all of the thread's windows that contain it.
//
// The function slide(x, y, windows) computes a block's outputs; `windows` has these functions:
//
//   windows.outside()                          returns the value of padding,
//   windows.join_row(span, slice, row)         adds a row of input pixels to all windows that contain it,
//   windows.join_tap(values, d, h, w)          adds one input pixel to the window of a kernel too large to unroll,
//   windows.output(outputs, group, s, r, c)    returns VEC channels of an output pixel.
//
// The macro UNROLLED tells whether windows are small enough to unroll their loops.
#pragma once
#include "convolution_place.cuh"
#include "guarded_load.cuh"

constexpr int BandSlices = (SLICES - 1) * STRIDE_D + SPAN_D, BandRows = (ROWS - 1) * STRIDE_H + SPAN_H,
              SpanColumns = (COLUMNS - 1) * STRIDE_W + SPAN_W;
constexpr int ChannelBlocks = (C / VEC + BLOCK_X - 1) / BLOCK_X, BlockChannels = BLOCK_X * VEC;
static_assert(C % VEC == 0 && (UNROLLED || SLICES * ROWS * COLUMNS == 1), "a thread has whole vectors, and loops for one window");

__device__ __forceinline__ int first_channel() { return blockIdx.x % ChannelBlocks * BlockChannels; }

// tap_at returns the kernel tap by which output o reads input i along one axis, or -1 if o does not read i.
__host__ __device__ constexpr int tap_at(int i, int o, int stride, int dilation, int kernel) {
    const int from = i - o * stride;
    return from < 0 || from % dilation != 0 || from / dilation >= kernel ? -1 : from / dilation;
}
__host__ __device__ constexpr int slice_tap(int i, int s) { return tap_at(i, s, STRIDE_D, DILATION_D, KERNEL_D); }
__host__ __device__ constexpr int row_tap(int i, int r) { return tap_at(i, r, STRIDE_H, DILATION_H, KERNEL_H); }

// is_tap tells whether one of the first Outputs windows reads input i along one axis.
template <int Outputs>
__device__ __forceinline__ bool is_tap(int i, int stride, int dilation, int kernel) {
    bool is = false;
#pragma unroll
    for (int o = 0; o < Outputs; ++o) is = is || tap_at(i, o, stride, dilation, kernel) >= 0;
    return is;
}

// Group holds the coordinates of a thread's first output pixel, and of the first input pixel of its window.
struct Group {
    long long image; // at first a linear index, which take reduces to the image
    int channel, slice, row, column, front, top, left;

    __device__ __forceinline__ Group()
        : image((long long)(blockIdx.x / ChannelBlocks) * BLOCK_Y + threadIdx.y), channel(first_channel() + threadIdx.x * VEC) {
        column = take((W_OUT + COLUMNS - 1) / COLUMNS) * COLUMNS;
        row = take((H_OUT + ROWS - 1) / ROWS) * ROWS;
        slice = take((D_OUT + SLICES - 1) / SLICES) * SLICES;
        front = slice * STRIDE_D - PADDING_D, top = row * STRIDE_H - PADDING_H, left = column * STRIDE_W - PADDING_W;
    }

    // take divides `image`, a linear index, by `size` and returns the remainder, which is the coordinate on one axis.
    __device__ __forceinline__ int take(int size) {
        const long long place = image;
        image = PLACES < 1ll << 31 ? (unsigned)place / (unsigned)size : place / size;
        return (int)(place - image * size);
    }

    __device__ __forceinline__ bool is_there() const { return channel < C && image < N; }

    __device__ __forceinline__ void load(float (&to)[VEC], const Element* x, int i, int j, int k, float outside) const {
        const int d = front + i, h = top + j, w = left + k;
        const bool inside = (unsigned)d < (unsigned)D && (unsigned)h < (unsigned)H && (unsigned)w < (unsigned)W;
#pragma unroll
        for (int e = 0; e < VEC; ++e) to[e] = outside;
        load_cached<VEC>(to, x + (((image * D + front) * H + top) * W + left) * C + channel + ((long long)(i * H + j) * W + k) * C, 0, inside);
    }

    // place locates an output pixel for the epilogue; columns past the end of the row are clamped to the last one.
    __device__ __forceinline__ ConvolutionPlace place(int s, int r, int c) const {
        const int its_column = column + c < W_OUT ? column + c : W_OUT - 1;
        const long long output = ((image * D_OUT + slice + s) * H_OUT + row + r) * W_OUT + its_column;
        return {output * C + channel, channel, C, (long long)D_OUT * H_OUT * W_OUT, true};
    }

    template <class Windows>
    __device__ __forceinline__ void store(Element* y, const Windows& windows, int s, int r) const {
        if (slice + s >= D_OUT || row + r >= H_OUT) return;
        Element* to = y + (((image * D_OUT + slice + s) * H_OUT + row + r) * W_OUT + column) * C + channel;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            float outputs[VEC];
            windows.output(outputs, *this, s, r, c);
            if constexpr (!Epilogue::kIsNone) windows.apply(outputs, place(s, r, c));
            if (column + c < W_OUT) store_elements<VEC, STREAMING>(to + (long long)c * C, outputs);
        }
    }
};

template <class Windows>
__device__ __forceinline__ void slide(const Element* x, Element* y, Windows& windows) {
    const Group group;
    if (!group.is_there()) return;
    if constexpr (UNROLLED) {
#pragma unroll
        for (int i = 0; i < BandSlices; ++i) {
            if (!is_tap<SLICES>(i, STRIDE_D, DILATION_D, KERNEL_D)) continue;
#pragma unroll
            for (int j = 0; j < BandRows; ++j) {
                if (!is_tap<ROWS>(j, STRIDE_H, DILATION_H, KERNEL_H)) continue;
                float span[SpanColumns][VEC];
#pragma unroll
                for (int k = 0; k < SpanColumns; ++k)
                    if (is_tap<COLUMNS>(k, STRIDE_W, DILATION_W, KERNEL_W)) group.load(span[k], x, i, j, k, windows.outside());
                windows.join_row(span, i, j);
#pragma unroll
                for (int o = 0; o < SLICES * ROWS; ++o) // storing a finished window frees its registers
                    if (slice_tap(i, o / ROWS) == KERNEL_D - 1 && row_tap(j, o % ROWS) == KERNEL_H - 1) group.store(y, windows, o / ROWS, o % ROWS);
            }
        }
    } else {
        for (int d = 0; d < KERNEL_D; ++d)
            for (int h = 0; h < KERNEL_H; ++h)
#pragma unroll 8
                for (int w = 0; w < KERNEL_W; ++w) {
                    float values[VEC];
                    group.load(values, x, d * DILATION_D, h * DILATION_H, w * DILATION_W, windows.outside());
                    windows.join_tap(values, d, h, w);
                }
        group.store(y, windows, 0, 0);
    }
}
