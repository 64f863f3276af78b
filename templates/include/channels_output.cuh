// channels_output.cuh: how sums of products leave whose rows are pixels of a channels-last output, and
// columns are its channels: as whole rows (gemm_tiles.cuh). Pixels has of(row), the pixel in memory that
// a row is, negative if it is none.
#pragma once
#include "element.cuh"
#include "gemm_tiles.cuh"
#include "place.cuh"

// PixelPlace is where an output lies whose pixel and channel a kernel knows (epilogue.cuh). A row has OutGroup
// channels, those of a group, and ends there for what is loaded.
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
    int first;  // channel of the group
    bool biased;
    __device__ __forceinline__ ChannelsOutput(const Tile& tile, const Given& given)
        : TileEpilogue(given), biases(given.bias + (BIAS ? tile.group * OutGroup : 0)), first(tile.group * OutGroup),
          biased(BIAS && tile.split == 0) {}
    // place is that of channels of the pixel that lies `on` behind a row's, or behind the first where the row has none.
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
