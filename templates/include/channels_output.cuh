// channels_output.cuh: the Output (gemm_tiles.cuh) of products whose rows are pixels of a channels-last output and
// whose columns are its channels: it stores whole rows. Pixels::of(row) returns the index in memory of a row's pixel,
// or a negative number if the row is no pixel.
#pragma once
#include "element.cuh"
#include "gemm_tiles.cuh"
#include "place.cuh"

// PixelPlace locates an output by its pixel and channel for the epilogue (epilogue.cuh). A row of outputs has the
// OutGroup channels of a group; loads do not go beyond its end.
template <int OutGroup>
struct PixelPlace : ConvolutionPlace {
    int in_group;
    __device__ __forceinline__ long long along() const { return in_group; }
    template <unsigned>
    __device__ __forceinline__ static constexpr long long side_by_side() {
        return OutGroup;
    }
};

template <class Pixels, int OutGroup = C_OUT_GROUP>
struct ChannelsOutput : TileEpilogue {
    typedef TileGiven Given;
    static constexpr int kMixed = kWholeRows, kColumns = OutGroup;
    const Element* biases;
    int first;  // first channel of the group
    bool biased;
    __device__ __forceinline__ ChannelsOutput(const Tile& tile, const Given& given)
        : TileEpilogue(given), biases(given.bias + (BIAS ? tile.group * OutGroup : 0)), first(tile.group * OutGroup),
          biased(BIAS && tile.split == 0) {}
    // place locates eight channels of the pixel that lies `on` pixels after a row's pixel, or after the first pixel if
    // the row has none.
    __device__ __forceinline__ PixelPlace<OutGroup> place(int row, int channel, long long on = 0) const {
        const long long pixel = Pixels::of(row), begin = ((pixel < 0 ? 0 : pixel) + on) * C_OUT;
        return {output_place(begin + first + channel, first + channel, begin), channel};
    }
    __device__ __forceinline__ float2 beside(int channel) const { return biased ? pair_at(biases, channel, OutGroup) : make_float2(0.0f, 0.0f); }
    __device__ __forceinline__ float value(float sum, int, float bias) const { return BIAS ? sum + bias : sum; }
    __device__ __forceinline__ Stored* line(Stored* y, int row) const {
        const long long pixel = Pixels::of(row);
        return pixel < 0 ? nullptr : y + pixel * C_OUT + first;
    }
    __device__ __forceinline__ void store(Stored* line, int channel, const float* words) const {
        store_columns(line, channel, OutGroup, words);
    }
};
