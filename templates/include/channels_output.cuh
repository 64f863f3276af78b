// channels_output.cuh: how sums of products leave whose rows are pixels of a channels-last output, and
// columns are its channels: as whole rows (gemm_tiles.cuh). Pixels has of(row), the pixel in memory that
// a row is, negative if it is none.
#pragma once
#include "element.cuh"
#include "gemm_tiles.cuh"

// A row has OutGroup channels, those of a group.
template <class Pixels, int OutGroup = C_OUT_GROUP>
struct ChannelsOutput {
    typedef const Element* Given;  // the biases
    static constexpr int kMixed = kWholeRows, kColumns = OutGroup;
    const Element* biases;
    int first;  // channel of the group
    bool biased;
    __device__ __forceinline__ ChannelsOutput(const Tile& tile, Given given)
        : biases(given + (BIAS ? tile.group * OutGroup : 0)), first(tile.group * OutGroup), biased(BIAS && tile.split == 0) {}
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
