// mapped_conv.cuh: convolutions of one tap and stride 1, of up to three dimensions, as matrix
// products. The copy engine fetches both operands by tensor maps (swizzled_operands.cuh, sm_90a).
// Rows are the pixels of an image, columns are output channels, and k is the input channels.
// Nothing is packed, and each input element comes from memory once.
//
// A kernel that includes this has the tunables of slab_gemm.cuh and, as macros, the problem's
// sizes. Axes that it lacks have the size 1.
#pragma once
#define ROWS_ALONG_K 0
#include "place.cuh"
#include "swizzled_operands.cuh"

namespace {

typedef Tf32Boxes Boxes;
__device__ __forceinline__ int pixels() { return D * H * W; }  // of a channel

// image_place is where a pixel of a group's channel lies, for epilogues: groups of images are numbered.
__device__ __forceinline__ Coordinates<3> image_place(int group, int channel, int pixel) {
    return {{group / GROUPS, group % GROUPS * C_OUT_GROUP + channel, pixel}, {1, C_OUT, pixels()}};
}

struct Work : ConvolutionWork {
    typedef MappedOperands Operands;
    __device__ __forceinline__ static int groups() { return N * GROUPS; }  // a product for each image's group
    static constexpr int kStages = (C_GROUP + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth);
    __device__ __forceinline__ static int rows_of(int group) { return group; }
    __device__ __forceinline__ static int columns_of(int group) { return group % GROUPS; }

    struct Output {
        typedef ConvolutionGiven Given;
        static constexpr int kMixed = 0;
        TileEpilogue epilogue;
        const float* bias;
        int group;  // of all images
        long long first;  // of the group's first channel
        bool biased;
        __device__ __forceinline__ Output(const Tile& tile, const Given& given)
            : epilogue(given), bias(given.bias + (BIAS ? tile.group % GROUPS * C_OUT_GROUP : 0)), group(tile.group),
              first(static_cast<long long>(tile.group) * C_OUT_GROUP * pixels()),
              biased(BIAS && tile.split == 0) {}
        static constexpr bool kLoads = !TileEpilogue::kIsNone;
        template <int Count>
        using Beside = TileEpilogue::Loaded<Count, Coordinates<3>>;
        // Behind the last channel or pixel, load loads what that has.
        __device__ __forceinline__ Beside<1> load(int pixel, int first_channel, int c) const {
            const int channel = first_channel + c < C_OUT_GROUP ? first_channel + c : C_OUT_GROUP - 1;
            return epilogue.template load<1>(image_place(group, channel, pixel < pixels() ? pixel : pixels() - 1));
        }
        template <class... B>
        __device__ __forceinline__ void store(float* y, int pixel, int first_channel, int c, float value,
                                              const B&... beside) const {
            const int channel = first_channel + c;
            if (pixel < pixels() && channel < C_OUT_GROUP) {
                float output[1] = {biased ? value + __ldg(bias + channel) : value};
                if constexpr (sizeof...(B) > 0) epilogue.apply(output, beside...);
                y[first + static_cast<long long>(channel) * pixels() + pixel] = output[0];
            }
        }
    };
};

}  // namespace
