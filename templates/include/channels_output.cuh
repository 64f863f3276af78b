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
struct PixelPlace {
    static constexpr unsigned kAlong = 2;
    long long pixel;
    int first, channel;  // first channel of the group, and channel in it
    __device__ __forceinline__ long long along() const { return channel; }
    template <unsigned>
    __device__ __forceinline__ static constexpr long long side_by_side() {
        return OutGroup;
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        if constexpr (Axes == 7) return pixel * C_OUT + (first + channel);
        if constexpr (Axes == 5) return pixel;
        if constexpr ((Axes & 5) == 0) return Axes ? first + channel : 0;
        const long long image = pixel / out_volume(), place = pixel - image * out_volume();
        const long long other = Axes & 4 ? place : image;
        return Axes & 2 ? other * C_OUT + (first + channel) : other;
    }
};

template <class Pixels, int OutGroup = C_OUT_GROUP>
struct ChannelsOutput {
    typedef TileGiven Given;
    static constexpr int kMixed = kWholeRows, kColumns = OutGroup;
    static constexpr bool kLoads = !TileEpilogue::kIsNone;
    typedef TileEpilogue::Loaded<8, PixelPlace<OutGroup>> Loaded;
    const Element* biases;
    int first;  // first channel of the group
    bool biased;
    TileEpilogue epilogue;
    __device__ __forceinline__ ChannelsOutput(const Tile& tile, const Given& given)
        : biases(given.bias + (BIAS ? tile.group * OutGroup : 0)), first(tile.group * OutGroup),
          biased(BIAS && tile.split == 0), epilogue(given) {}
    // load loads the epilogue's elements for eight channels of the pixel that lies `on` pixels after a row's pixel.
    // For a row without a pixel, load loads the elements of the first pixel.
    __device__ __forceinline__ Loaded load(int row, int channel, long long on = 0) const {
        const long long pixel = Pixels::of(row);
        return epilogue.template load<8>(PixelPlace<OutGroup>{(pixel < 0 ? 0 : pixel) + on, first, channel});
    }
    __device__ __forceinline__ void apply(float (&sums)[8], const Loaded& loaded) const {
        epilogue.apply(sums, loaded);
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
