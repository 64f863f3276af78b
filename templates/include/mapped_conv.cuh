// mapped_conv.cuh: convolutions of one tap and stride 1, of up to three dimensions, as matrix
// products. The copy engine fetches both operands by tensor maps (swizzled_operands.cuh, sm_90a).
// Rows are the pixels of an image, columns are output channels, and k is the input channels.
// Nothing is packed, and each input element comes from memory once.
//
// A kernel that includes this has the tunables of slab_gemm.cuh and, as macros, the problem's
// sizes. Axes that it lacks have the size 1.
#pragma once
#define ROWS_ALONG_K 0
#include "swizzled_operands.cuh"

namespace {

typedef Tf32Boxes Boxes;
constexpr int kPixels = D * H * W;  // of a channel

struct Work {
    typedef MappedOperands Operands;
    static constexpr int kGroups = N * GROUPS, kParts = 1, kTilesM = TILES_M, kTilesN = TILES_N;  // a product for each image's group
    static constexpr int kStages = (C_GROUP + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth);
    static constexpr long long kOutputs = static_cast<long long>(N) * C_OUT * kPixels;
    __device__ __forceinline__ static int rows_of(int group) { return group; }
    __device__ __forceinline__ static int columns_of(int group) { return group % GROUPS; }

    struct Output {
        typedef const float* Given;  // the bias
        static constexpr int kMixed = 0;
        const float* bias;
        long long first;  // of the group's first channel
        bool biased;
        __device__ __forceinline__ Output(const Tile& tile, Given given)
            : bias(given + (BIAS ? tile.group % GROUPS * C_OUT_GROUP : 0)), first(static_cast<long long>(tile.group) * C_OUT_GROUP * kPixels),
              biased(BIAS && tile.split == 0) {}
        __device__ __forceinline__ void store(float* y, int pixel, int first_channel, int c, float value) const {
            const int channel = first_channel + c;
            if (pixel < kPixels && channel < C_OUT_GROUP)
                y[first + static_cast<long long>(channel) * kPixels + pixel] = biased ? value + __ldg(bias + channel) : value;
        }
    };
};

__device__ __forceinline__ void map_conv(const float* x, const float* weight, float* maps) {
    map_operands(maps, {x, kPixels, N * GROUPS}, {weight, C_OUT_GROUP, GROUPS}, C_GROUP);
}

}  // namespace
