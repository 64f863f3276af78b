// Convolutions of up to three axes, transposed ones too, on Hopper's warpgroup products (sm_90a), of an input
// that is not packed: boxed_conv.cuh has the idea, slab_gemm.cuh the mainloop and what the tunables trade.
#include "boxed_conv.cuh"

namespace {

// Steps are the order of k. With 16 channels or more a stage's taps come one after the other, of each its channels.
template <int Channels, bool Few = (Channels < 16)>
struct Steps {
    static_assert(kStageSlabs * 4 == kStageTaps * Channels, "a stage has whole steps of its taps");
    static constexpr int kTapSlabs = CHANNELS / 4;

    // slab is where a group of four channels of a tap is among the slabs of a tile. Groups are in the order of
    // taps, which lie side by side in memory.
    __device__ __forceinline__ static int slab(int quad) {
        const int tap = quad % kTaps, channel = quad / kTaps * 4;
        const int stage = channel / CHANNELS * kStagesInChunk + tap / kStageTaps;
        return stage * kStageSlabs + tap % kStageTaps * kTapSlabs + channel % CHANNELS / 4;
    }
    __device__ __forceinline__ static Element element(int slab, int i) {
        const int stage = slab / kStageSlabs, in_stage = slab % kStageSlabs;
        return {stage / kStagesInChunk * CHANNELS + in_stage % kTapSlabs * 4 + i,
                Place(stage % kStagesInChunk * kStageTaps + in_stage / kTapSlabs, AxisH::taps, AxisW::taps)};
    }

    // A lane loads one channel in four.
    const float* rows;
    __device__ __forceinline__ explicit Steps(const float* rows) : rows(rows + threadIdx.x % 4 * BOX) {}
    // load gives the lane's element of a slab of a stage, of the row that begins at a place.
    __device__ __forceinline__ unsigned load(int slab, int place) const {
        const int channel = slab % kTapSlabs * 4, tap = slab / kTapSlabs;
        return round_to_tf32(rows[place + tap / TAPS_ACROSS * AxisH::step * kRowFloats + channel * BOX + tap % TAPS_ACROSS * AxisW::step]);
    }
};

// Few channels, as in the first layer of a network, come through the rows of a box, from tap to tap. A row of the box has
// what one channel and one row of the kernel read; rows of all channels follow each other, then those of the kernel's next
// row. So k has no gap: three channels of a 7 x 7 kernel are 147 elements in 160, not 49 taps of 16.
//
// Of a product's rows a lane loads one element in four. Four elements of k in sequence may be
// neighbours in a row of the box. Or they are the last of one row and the first of the next,
// which is a constant further on. So a lane keeps a distance for each place where a row can end
// in four, and the rest is known when this is compiled. Eight pixels and four taps beside each
// other share no banks, whatever the stride up to four.
//
// A stage has all rows of the kernel, whose dilation from row to row is 1, and all channels: CHANNELS
// is C_GROUP, TAPS_ACROSS and TAPS_DOWN are the kernel's.
template <int Channels>
struct Steps<Channels, true> {
    static constexpr int kAcross = AxisW::taps, kElements = kStageTaps * CHANNELS;  // of a row, and of a stage
    static_assert(Channels == C_GROUP && kStageTaps == AxisH::taps * kAcross && kElements <= kStageSlabs * 4, "a stage has a plane of the kernel");
    static_assert(!kPatches || AxisH::step == 1, "rows of the kernel follow each other in a box");

    __device__ __forceinline__ static int slab(int quad) { return quad; }
    __device__ __forceinline__ static Element element(int slab, int i) {
        const int k = slab % kStageSlabs * 4 + i, row = k / kAcross;
        return {k < kElements ? row % CHANNELS : C_GROUP,
                Place((slab / kStageSlabs * AxisH::taps + row / CHANNELS) * kAcross + k % kAcross, AxisH::taps, kAcross)};
    }

    // ahead[e] is how far on the lane's element of four is if a row ends in front of the
    // e-th. With e = 0 no row ends there.
    const float* rows;
    int ahead[4];
    __device__ __forceinline__ explicit Steps(const float* rows) : rows(rows) {
        const int lane = threadIdx.x % 4;
#pragma unroll
        for (int e = 0; e < 4; ++e) ahead[e] = kAcross == 1 ? lane * BOX : lane * AxisW::step + (e > 0 && lane >= e ? kRowEnd : 0);
    }
    static constexpr int kRowEnd = BOX - kAcross * AxisW::step;  // from behind a row's last tap to the next row

    // load gives the lane's element of a slab of a stage, of the row that begins at a place. Zeros fill
    // the last step up: what lies there in the box may be no number.
    __device__ __forceinline__ unsigned load(int slab, int place) const {
        const int k = slab * 4, across = k % kAcross, end = kAcross > 1 && kAcross - across < 4 ? kAcross - across : 0;
        if (k >= kElements) return 0;
        const unsigned value = round_to_tf32(rows[ahead[end] + place + k / kAcross * BOX + across * AxisW::step]);
        return k + 4 <= kElements || threadIdx.x % 4 < kElements - k ? value : 0;
    }
};

typedef Steps<CHANNELS> OwnSteps;

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_conv_pack(const float* __restrict__ weight, float* __restrict__ packed_weight) {
    boxed_conv_pack<OwnSteps>(weight, packed_weight);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_conv(const __grid_constant__ TensorMap input, const float* packed_weight, const float* __restrict__ x,
                         const float* __restrict__ weight, const float* __restrict__ bias,
                         float* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    boxed_conv<OwnSteps>(memory, &input, packed_weight, {x, weight, bias, {TILE_EPILOGUE_ARGUMENTS}}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_conv_sum(const float* partial_sums, const float* __restrict__ x, const float* __restrict__ weight,
                             const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    const PlainConvolution<float, Epilogue> plain = {x, weight, bias, {EPILOGUE_ARGUMENTS}};
    sum_splits<Work::kMasked>(partial_sums, y, Work::outputs(), plain, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
