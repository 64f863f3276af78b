// mma.cuh, emulated: the last lane of a warp to arrive computes the product for all lanes.
#pragma once

#include "elements.cuh"
#include "row_product.cuh"

// EmulatedMma holds the operands and accumulators of one lane.
struct EmulatedMma {
    float* d;
    const unsigned *a, *b;
};

// emulated_mma computes a warp's product. a_at(row, k) and b_at(k, column) return elements of A and B.
template <int Depth, class A, class B>
inline void emulated_mma(void** lanes, A a_at, B b_at) {
    auto lane_at = [&](int lane) -> const EmulatedMma& { return *static_cast<EmulatedMma*>(lanes[lane]); };
    float b[Depth][8];
    for (int k = 0; k < Depth; ++k)
        for (int column = 0; column < 8; ++column) b[k][column] = b_at(lane_at, k, column);
    for (int row = 0; row < 16; ++row) {
        float a[Depth];
        double sums[8];
        auto home = [&](int column) -> float& { return lane_at(row % 8 * 4 + column / 2).d[row / 8 * 2 + column % 2]; };
        for (int k = 0; k < Depth; ++k) a[k] = a_at(lane_at, row, k);
        for (int column = 0; column < 8; ++column) sums[column] = home(column);
        emulated_row_product(sums, a, b);
        for (int column = 0; column < 8; ++column) home(column) = (float)sums[column];
    }
}

inline void emulated_mma_whole_warp(unsigned members) { assert(members == 0xffffffffu && "mma needs all 32 lanes"); }

inline void emulated_mma_tf32(void** lanes, unsigned members) {
    emulated_mma_whole_warp(members);
    emulated_mma<8>(
        lanes, [](auto& at, int row, int k) { return emulated_tf32(at(row % 8 * 4 + k % 4).a[row / 8 + k / 4 * 2], 0); },
        [](auto& at, int k, int column) { return emulated_tf32(at(column * 4 + k % 4).b[k / 4], 0); });
}

// Element extracts one of the two 16-bit elements of a register.
template <float (*Element)(unsigned pair, int upper)>
inline void emulated_mma_pairs(void** lanes, unsigned members) {
    emulated_mma_whole_warp(members);
    emulated_mma<16>(
        lanes, [](auto& at, int row, int k) { return Element(at(row % 8 * 4 + k % 8 / 2).a[row / 8 + k / 8 * 2], k % 2); },
        [](auto& at, int k, int column) { return Element(at(column * 4 + k % 8 / 2).b[k / 8], k % 2); });
}

inline void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    EmulatedMma mine = {d, a, b};
    autotune_warp_meet(0xffffffffu, "mma_m16n8k8_tf32", &mine, emulated_mma_tf32);
}
inline void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    EmulatedMma mine = {d, a, b};
    autotune_warp_meet(0xffffffffu, "mma_m16n8k16_bf16", &mine, emulated_mma_pairs<emulated_bf16>);
}
inline void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    EmulatedMma mine = {d, a, b};
    autotune_warp_meet(0xffffffffu, "mma_m16n8k16_fp16", &mine, emulated_mma_pairs<emulated_fp16>);
}
