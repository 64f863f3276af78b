// channel_steps.cuh: the order of k in boxed_conv.cuh where there are 16 channels or more: a stage's
// taps one after the other, of each its channels.
#pragma once
#include "boxed_conv.cuh"

namespace {

struct Steps {
    static_assert(kStageSlabs * 4 == kStageTaps * CHANNELS, "a stage has whole steps of its taps");
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

}  // namespace
