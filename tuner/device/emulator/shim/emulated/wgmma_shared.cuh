// wgmma_shared.cuh, emulated, as wgmma.cuh is.
#pragma once

struct EmulatedSharedWgmma {
    float* d;
    Slabs a, b;
    bool add;
    int first_row;  // of the warp's rows
};

// One lane multiplies for its warp: 16 rows, Depth elements, Columns columns.
template <int Columns, int Depth, class Element>
inline void emulated_shared_wgmma(void** lanes, unsigned members, Element element) {
    assert(members == 0xffffffffu && "wgmma needs all 32 lanes");
    const EmulatedSharedWgmma& all = *static_cast<EmulatedSharedWgmma*>(lanes[0]);
    constexpr int per_word = Depth / 8;
    float b[Depth][Columns];
    for (int column = 0; column < Columns; ++column)
        for (int k = 0; k < Depth; ++k) {
            const char* slab = all.b.first + k / (Depth / 2) * all.b.apart + column * 16;
            b[k][column] = element(reinterpret_cast<const unsigned*>(slab)[k % (Depth / 2) / per_word], k % per_word);
        }
    for (int row = 0; row < 16; ++row) {
        float a[Depth];
        for (int k = 0; k < Depth; ++k) {
            const char* slab = all.a.first + k / (Depth / 2) * all.a.apart + (all.first_row + row) * 16;
            a[k] = element(reinterpret_cast<const unsigned*>(slab)[k % (Depth / 2) / per_word], k % per_word);
        }
        double sums[Columns];
        for (int column = 0; column < Columns; ++column) {
            const EmulatedSharedWgmma& home = *static_cast<EmulatedSharedWgmma*>(lanes[row % 8 * 4 + column % 8 / 2]);
            sums[column] = home.add ? home.d[column / 8 * 4 + row / 8 * 2 + column % 2] : 0.0f;
        }
        emulated_row_product(sums, a, b);
        for (int column = 0; column < Columns; ++column) {
            EmulatedSharedWgmma& home = *static_cast<EmulatedSharedWgmma*>(lanes[row % 8 * 4 + column % 8 / 2]);
            home.d[column / 8 * 4 + row / 8 * 2 + column % 2] = (float)sums[column];
        }
    }
}

template <int Columns>
inline void emulated_shared_tf32_work(void** lanes, unsigned members) {
    emulated_shared_wgmma<Columns, 8>(lanes, members, emulated_wgmma_tf32);
}
template <int Columns>
inline void emulated_shared_bf16_work(void** lanes, unsigned members) {
    emulated_shared_wgmma<Columns, 16>(lanes, members, emulated_wgmma_bf16);
}

template <int Columns>
inline void wgmma_tf32(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    EmulatedSharedWgmma mine = {d, a, b, add, int(threadIdx.x / 32 % 4 * 16)};
    autotune_warp_meet(0xffffffffu, "wgmma_tf32", &mine, emulated_shared_tf32_work<Columns>);
}
template <int Columns>
inline void wgmma_bf16(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    EmulatedSharedWgmma mine = {d, a, b, add, int(threadIdx.x / 32 % 4 * 16)};
    autotune_warp_meet(0xffffffffu, "wgmma_bf16", &mine, emulated_shared_bf16_work<Columns>);
}
template <int Groups> inline void wgmma_wait_groups() {}
