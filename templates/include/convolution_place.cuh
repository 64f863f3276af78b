// convolution_place.cuh: where outputs of convolutions lie, for epilogues. Their tensors have three axes: images, channels, and
// places, those of all of an image's dimensions.
#pragma once
#include "epilogue.cuh"
#include "layout.cuh"

// ConvolutionPlace is that of the output of an index in memory. Most tensors lie as outputs do, or have a number a
// channel, which kernels know; divisions are for the others. They are of `same`, an output of the same image and place:
// one for all channels of a place is divided once.
struct ConvolutionPlace {
    static constexpr unsigned kAlong = CHANNELS_LAST ? 2 : 4;
    long long output, channel, channels, volume;
    bool channels_last;
    long long same = output;
    __device__ __forceinline__ long long along() const { return channels_last ? channel : output % volume; }
    template <unsigned>
    __device__ __forceinline__ long long side_by_side() const {
        return channels_last ? channels : volume;
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        if constexpr (Axes == 7) return output;
        if constexpr (Axes == 2) return channel;
        const long long pixel = same / channels, plane = same / volume;  // of all images, with channels last or not
        const long long image = channels_last ? pixel / volume : plane / channels;
        const long long place = channels_last ? pixel % volume : same % volume;
        if (channels_last && (Axes & 6) == 6) return place * channels + channel;  // of an image
        return Coordinates<3>{{image, channel, place}, {1, channels, volume}}.index<Axes>();
    }
};

// RowPlace is that of an output in NCHW whose plane, of all images' channels, row and column a kernel knows; where it
// knows no image and channel, only tensors that have one of them cost divisions. The outputs side by side are the
// row's. Behind the last row and column it is that of those.
struct RowPlace {
    static constexpr unsigned kAlong = 4;
    long long image, channel, plane, place, volume, column, columns;
    __device__ __forceinline__ RowPlace(long long image, long long channel, long long plane, long long row,
                                        long long rows, long long column, long long columns)
        : image(image), channel(channel), plane(plane), volume(rows * columns),
          column(column < columns ? column : columns - 1), columns(columns) {
        place = (row < rows ? row : rows - 1) * columns + this->column;
    }
    __device__ __forceinline__ RowPlace(long long plane, long long channels, long long row, long long rows,
                                        long long column, long long columns)
        : RowPlace(plane / channels, plane % channels, plane, row, rows, column, columns) {}
    __device__ __forceinline__ long long along() const { return column; }
    template <unsigned>
    __device__ __forceinline__ long long side_by_side() const {
        return columns;
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        constexpr unsigned kPlane = Axes & 3;
        const long long its = kPlane == 3 ? plane : kPlane == 2 ? channel : kPlane == 1 ? image : 0;
        return Axes & 4 ? its * volume + place : its;
    }
};

// RunPlace is of kernels whose outputs side by side are a run of the tensor that begins aligned, wherever rows begin.
// Those of a place are of one row.
struct RunPlace : RowPlace {
    using RowPlace::RowPlace;
    template <unsigned Axes>
    __device__ __forceinline__ long long side_by_side() const {
        return Axes == 7 ? 1ll << 40 : columns;
    }
};
