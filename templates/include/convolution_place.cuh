// convolution_place.cuh: the Places of convolution outputs, for epilogues (epilogue.cuh). Outputs have three axes:
// images, channels, and places, which combine all spatial dimensions.
#pragma once
#include "epilogue.cuh"
#include "layout.cuh"

// ConvolutionPlace locates an output by its index in memory. Most tensors of epilogues have the output's shape or one
// number per channel, which needs no division; other tensors need divisions of `same`, the index of any output with the
// same image and pixel. Channels of one pixel that have `same` in common share the divisions.
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
        const long long pixel = same / channels, plane = same / volume;  // over all images
        const long long image = channels_last ? pixel / volume : plane / channels;
        const long long place = channels_last ? pixel % volume : same % volume;
        if (channels_last && (Axes & 6) == 6) return place * channels + channel;  // within an image
        return Coordinates<3>{{image, channel, place}, {1, channels, volume}}.index<Axes>();
    }
};

// RowPlace locates an output of NCHW layout, of which a kernel knows row, column and plane (counted through all
// channels of all images). If the kernel does not know image and channel, only tensors with exactly one of these axes
// need a division. The contiguous outputs of a RowPlace are those of one row. For a row or column behind the last,
// RowPlace locates an output of the last one.
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

// RunPlace is for kernels whose adjacent outputs are a run of the tensor that begins aligned, independent of the rows.
// All outputs that one RunPlace covers lie in one row.
struct RunPlace : RowPlace {
    using RowPlace::RowPlace;
    template <unsigned Axes>
    __device__ __forceinline__ long long side_by_side() const {
        return Axes == 7 ? 1ll << 40 : columns;
    }
};
