// mapped_conv_16bit.cuh: mapped_conv.cuh of bf16 or fp16: convolutions of one tap and stride 1,
// of up to three dimensions, as matrix products. The copy engine fetches both operands by tensor
// maps (swizzled_16bit.cuh, sm_90a). Rows are output channels, columns are the pixels of an
// image, and k is the input channels. Nothing is packed, and no thread touches an operand.
//
// A kernel that includes this has the tunables of slab_gemm.cuh and, as macros, the problem's
// sizes. Axes that it lacks have the size 1.
#pragma once
#include "element.cuh"
#define PARTS (kOfBf16 ? one_bf16 : one_fp16)
#include "place.cuh"
#include "swizzled_16bit.cuh"

namespace {

typedef Boxes16Bit Boxes;
__device__ __forceinline__ int pixels() { return D * H * W; }  // of a channel

// image_place is where a pixel of a group's channel lies, for epilogues: groups of images are numbered.
__device__ __forceinline__ Coordinates<3> image_place(int group, int channel, int pixel) {
    return {{group / GROUPS, group % GROUPS * C_OUT_GROUP + channel, pixel}, {1, C_OUT, pixels()}};
}

struct Work : ConvolutionWork {
    typedef MappedOperands Operands;
    __device__ __forceinline__ static int groups() { return N * GROUPS; }  // a product for each image's group
    static constexpr int kStages = (C_GROUP + kStageDepth - 1) / kStageDepth;
    static constexpr bool kRowsAlongK = true, kColumnsAlongK = false;
    __device__ __forceinline__ static int rows_of(int group) { return group % GROUPS; }
    __device__ __forceinline__ static int columns_of(int group) { return group; }

    // A channel's pixels lie side by side, a row's columns.
    struct Output {
        typedef ConvolutionGiven Given;
        static constexpr int kMixed = kWholeRows;
        TileEpilogue epilogue;
        const Element* bias;
        int group;  // of all images
        long long first;  // of the group's first channel
        bool biased;
        __device__ __forceinline__ Output(const Tile& tile, const Given& given)
            : epilogue(given), bias(given.bias + (BIAS ? tile.group % GROUPS * C_OUT_GROUP : 0)), group(tile.group),
              first(static_cast<long long>(tile.group) * C_OUT_GROUP * pixels()),
              biased(BIAS && tile.split == 0) {}
        __device__ __forceinline__ float2 beside(int) const { return make_float2(0.0f, 0.0f); }
        __device__ __forceinline__ float value(float sum, int channel, float) const {
            return biased && channel < C_OUT_GROUP ? sum + read_only(bias + channel) : sum;
        }
        static constexpr bool kLoads = !TileEpilogue::kIsNone;
        typedef TileEpilogue::Loaded<8, Coordinates<3>> Beside;
        // Behind the last channel, load loads what that has.
        __device__ __forceinline__ Beside load(int channel, int pixel) const {
            const int there = channel < C_OUT_GROUP ? channel : C_OUT_GROUP - 1;
            return epilogue.template load<8>(image_place(group, there, pixel));
        }
        __device__ __forceinline__ void apply(float (&sums)[8], const Beside& beside) const {
            epilogue.apply(sums, beside);
        }
        __device__ __forceinline__ Stored* line(Stored* y, int channel) const {
            return channel < C_OUT_GROUP ? y + first + static_cast<long long>(channel) * pixels() : nullptr;
        }
        __device__ __forceinline__ void store(Stored* line, int pixel, const float* words) const { store_columns(line, pixel, pixels(), words); }
    };
};

}  // namespace
