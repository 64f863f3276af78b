// Convolutions of up to three axes, with one tap and stride 1, as matrix products on Hopper's warpgroup products
// (sm_90a). The copy engine loads both operands by tensor maps (mapped_operands.cuh). Nothing is packed, and each input
// element is read from memory once. For floats, rows are the pixels of an image, and columns are output channels; for
// bf16 and fp16 it is the other way round, so that outputs are stored as whole rows. k is the input channels.
//
// slab_gemm.cuh has the mainloop and explains the tunables. Axes that a problem lacks have size 1.
#include "mapped_operands.cuh"
#include "place.cuh"

namespace {

__device__ __forceinline__ int pixels() { return D * H * W; }  // of a channel

// ImageOutput is the output of one group of one image; the pixels of a channel are contiguous.
struct ImageOutput : TileEpilogue {
    typedef TileGiven Given;
    const Element* bias;
    int group;        // index among the groups of all images
    long long first;  // index of the group's first channel
    bool biased;
    __device__ __forceinline__ ImageOutput(const Tile& tile, const Given& given)
        : TileEpilogue(given), bias(given.bias + (BIAS ? tile.group % GROUPS * C_OUT_GROUP : 0)), group(tile.group),
          first(static_cast<long long>(tile.group) * C_OUT_GROUP * pixels()), biased(BIAS && tile.split == 0) {}
    // place locates a pixel of a channel for epilogues; channels after the last one get the last channel's place.
    template <int Along = 2>
    __device__ __forceinline__ Coordinates<3, Along> place(int channel, int pixel) const {
        const int there = channel < C_OUT_GROUP ? channel : C_OUT_GROUP - 1;
        return {{group / GROUPS, group % GROUPS * C_OUT_GROUP + there, pixel}, {1, C_OUT, pixels()}};
    }
    __device__ __forceinline__ float sum(float value, int channel) const {
        return biased && channel < C_OUT_GROUP ? value + read_only(bias + channel) : value;
    }
};

// Output<true> stores outputs of 16 bits, Output<false> floats.
template <bool Of16Bits>
struct Output : ImageOutput {
    using ImageOutput::ImageOutput;
    static constexpr int kMixed = kWholeRows;
    __device__ __forceinline__ float2 beside(int) const { return make_float2(0.0f, 0.0f); }
    __device__ __forceinline__ float value(float value, int channel, float) const { return sum(value, channel); }
    __device__ __forceinline__ Stored* line(Stored* y, int channel) const {
        return channel < C_OUT_GROUP ? y + first + static_cast<long long>(channel) * pixels() : nullptr;
    }
    __device__ __forceinline__ void store(Stored* line, int pixel, const float* words) const {
        store_columns(line, pixel, pixels(), words);
    }
};
template <>
struct Output<false> : ImageOutput {
    using ImageOutput::ImageOutput;
    static constexpr int kMixed = 0;
    static constexpr int kTurns = 1, kRun = C_OUT_GROUP % 16 == 0 ? 16 : 1;
    __device__ __forceinline__ static int columns() { return C_OUT_GROUP; }
    __device__ __forceinline__ static bool lacks(int pixel) { return pixel >= pixels(); }
    __device__ __forceinline__ Coordinates<3, 1> place(int pixel, int first_channel, int c) const {
        return ImageOutput::place<1>(first_channel + c, pixel < pixels() ? pixel : pixels() - 1);
    }
    template <class... B>
    __device__ __forceinline__ void store(float* y, int pixel, int first_channel, int c, float value,
                                          const B&... beside) const {
        const int channel = first_channel + c;
        constexpr bool whole = !kIsNone && C_OUT_GROUP % 32 == 0 && sizeof...(B) > 0;  // the column is known to exist
        if (pixel < pixels() && (whole || channel < C_OUT_GROUP)) {
            float output[1] = {sum(value, channel)};
            if constexpr (sizeof...(B) > 0) apply(output, beside...);
            y[first + static_cast<long long>(channel) * pixels() + pixel] = output[0];
        }
    }
};

struct Work : ConvolutionWork {
    typedef MappedOperands Operands;
    typedef ::Output<kOf16Bits> Output;
    __device__ __forceinline__ static int groups() { return N * GROUPS; }  // one product for each group of each image
    static constexpr int kStages = (C_GROUP + kStageDepth - 1) / kStageDepth;
    static constexpr bool kRowsAlongK = kOf16Bits, kColumnsAlongK = !kOf16Bits;
    __device__ __forceinline__ static int rows_of(int group) { return kOf16Bits ? group % GROUPS : group; }
    __device__ __forceinline__ static int columns_of(int group) { return kOf16Bits ? group : group % GROUPS; }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_gemm(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, const Element* __restrict__ bias,
                         Stored* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    mapped_gemm<Work>(memory, {&rows, &columns}, {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_gemm_sum(const float* partial_sums, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
