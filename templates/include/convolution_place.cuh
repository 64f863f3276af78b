// convolution_place.cuh: where outputs of convolutions lie, for epilogues. Their tensors have three axes: images, channels, and
// places, those of all of an image's dimensions.
#pragma once
#include "epilogue.cuh"
#include "layout.cuh"

// ConvolutionPlace is that of the output of an index in memory. Most tensors lie as outputs do, or have a number a
// channel, which kernels know; divisions are for the others.
struct ConvolutionPlace {
    static constexpr unsigned kAlong = CHANNELS_LAST ? 2 : 4;
    long long output, channel, channels, volume;
    bool channels_last;
    __device__ __forceinline__ long long along() const { return channels_last ? channel : output % volume; }
    template <unsigned>
    __device__ __forceinline__ long long side_by_side() const {
        return channels_last ? channels : volume;
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        if constexpr (Axes == 7) return output;
        if constexpr (Axes == 2) return channel;
        const long long image = output / volume / channels;
        const long long place = channels_last ? output / channels % volume : output % volume;
        if (channels_last && (Axes & 6) == 6) return place * channels + channel;  // of an image
        return Coordinates<3>{{image, channel, place}, {1, channels, volume}}.index<Axes>();
    }
};

// RowPlace is that of an output of a plane in NCHW whose row and column a kernel knows: it takes no divisions. The
// outputs side by side are the row's.
struct RowPlace : Coordinates<3> {
    long long column, columns;
    __device__ __forceinline__ RowPlace(long long image, long long channel, long long channels, long long row,
                                        long long column, long long rows, long long columns)
        : Coordinates<3>{{image, channel, row * columns + column}, {1, channels, rows * columns}}, column(column),
          columns(columns) {}
    __device__ __forceinline__ long long along() const { return column; }
    template <unsigned>
    __device__ __forceinline__ long long side_by_side() const {
        return columns;
    }
};
