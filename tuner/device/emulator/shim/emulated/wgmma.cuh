// wgmma.cuh, emulated: a product is finished when it is issued, so a kernel that
// forgets a fence, a commit or a wait is not caught here.
#pragma once

#include "row_product.cuh"

struct EmulatedWgmma {
    float* d;
    const unsigned* a;
    Slabs b;
    bool add;
};

// One lane multiplies for its warp: 16 rows, Depth elements, Columns columns.
template <int Columns, int Depth, class Element>
inline void emulated_wgmma(void** lanes, unsigned members, Element element) {
    assert(members == 0xffffffffu && "wgmma needs all 32 lanes");
    const EmulatedWgmma& all = *static_cast<EmulatedWgmma*>(lanes[0]);
    constexpr int per_word = Depth / 8;
    float b[Depth][Columns];
    for (int column = 0; column < Columns; ++column)
        for (int k = 0; k < Depth; ++k) {
            const char* slab = all.b.first + k / (Depth / 2) * all.b.apart + column * 16;
            b[k][column] = element(reinterpret_cast<const unsigned*>(slab)[k % (Depth / 2) / per_word], k % per_word);
        }
    for (int row = 0; row < 16; ++row) {
        auto lane = [&](int quarter) -> const EmulatedWgmma& { return *static_cast<EmulatedWgmma*>(lanes[row % 8 * 4 + quarter]); };
        auto home = [&](int column) -> float& { return lane(column % 8 / 2).d[column / 8 * 4 + row / 8 * 2 + column % 2]; };
        float a[Depth];
        for (int k = 0; k < Depth; ++k)
            a[k] = element(lane(k % (Depth / 2) / per_word).a[row / 8 + k / (Depth / 2) * 2], k % per_word);
        double sums[Columns];
        for (int column = 0; column < Columns; ++column) sums[column] = all.add ? home(column) : 0.0f;
        emulated_row_product(sums, a, b);
        for (int column = 0; column < Columns; ++column) home(column) = (float)sums[column];
    }
}

inline float emulated_wgmma_tf32(unsigned bits, int) { return __uint_as_float(bits & 0xffffe000u); }
inline float emulated_wgmma_bf16(unsigned pair, int upper) {
    return __uint_as_float(upper ? pair & 0xffff0000u : pair << 16);
}

template <int Columns>
inline void emulated_wgmma_tf32_work(void** lanes, unsigned members) {
    emulated_wgmma<Columns, 8>(lanes, members, emulated_wgmma_tf32);
}
template <int Columns>
inline void emulated_wgmma_bf16_work(void** lanes, unsigned members) {
    emulated_wgmma<Columns, 16>(lanes, members, emulated_wgmma_bf16);
}

template <int Columns>
inline void wgmma_tf32(float (&d)[Columns / 2], const unsigned (&a)[4], Slabs b, bool add) {
    EmulatedWgmma mine = {d, a, b, add};
    autotune_warp_meet(0xffffffffu, "wgmma_tf32", &mine, emulated_wgmma_tf32_work<Columns>);
}
template <int Columns>
inline void wgmma_bf16(float (&d)[Columns / 2], const unsigned (&a)[4], Slabs b, bool add) {
    EmulatedWgmma mine = {d, a, b, add};
    autotune_warp_meet(0xffffffffu, "wgmma_bf16", &mine, emulated_wgmma_bf16_work<Columns>);
}

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int Groups = 0, int Sums> inline void wgmma_wait(float (&)[Sums]) {}
template <int Registers> inline void more_registers() {}
template <int Registers> inline void fewer_registers() {}
