// wgmma_swizzled.cuh, emulated, as wgmma.cuh is.
#pragma once

// emulated_swizzled is element k of a row's eight.
inline unsigned emulated_swizzled(const SwizzledRows& of, int row, int k) {
    assert(reinterpret_cast<size_t>(of.rows) % 1024 == 0 && "swizzled rows begin at a multiple of 1024 bytes");
    const int piece = of.eighth * 2 + k / 4;
    return reinterpret_cast<const unsigned*>(of.rows + row * 128 + (piece ^ row % 8) * 16)[k % 4];
}

struct EmulatedSwizzledWgmma {
    float* d;
    const unsigned* a;  // null: it is in shared memory
    SwizzledRows rows, columns;
    int first_row;  // of the warp's rows
};

// One lane multiplies for its warp.
template <int Columns>
inline void emulated_swizzled_work(void** lanes, unsigned members) {
    assert(members == 0xffffffffu && "wgmma needs all 32 lanes");
    typedef EmulatedSwizzledWgmma Lane;
    const Lane& all = *static_cast<Lane*>(lanes[0]);
    float b[8][Columns];
    for (int column = 0; column < Columns; ++column)
        for (int k = 0; k < 8; ++k) b[k][column] = emulated_wgmma_tf32(emulated_swizzled(all.columns, column, k), 0);
    for (int row = 0; row < 16; ++row) {
        auto home = [&](int column) -> float& {
            return static_cast<Lane*>(lanes[row % 8 * 4 + column % 8 / 2])->d[column / 8 * 4 + row / 8 * 2 + column % 2];
        };
        float a[8];
        for (int k = 0; k < 8; ++k)
            a[k] = emulated_wgmma_tf32(all.a ? static_cast<Lane*>(lanes[row % 8 * 4 + k % 4])->a[row / 8 + k / 4 * 2]
                                             : emulated_swizzled(all.rows, all.first_row + row, k), 0);
        double sums[Columns];
        for (int column = 0; column < Columns; ++column) sums[column] = home(column);
        emulated_row_product(sums, a, b);
        for (int column = 0; column < Columns; ++column) home(column) = (float)sums[column];
    }
}

template <int Columns>
inline void wgmma_swizzled(float (&d)[Columns / 2], const SwizzledRows& a, const SwizzledRows& b) {
    EmulatedSwizzledWgmma mine = {d, nullptr, a, b, int(threadIdx.x / 32 % 4 * 16)};
    autotune_warp_meet(0xffffffffu, "wgmma_swizzled", &mine, emulated_swizzled_work<Columns>);
}
template <int Columns>
inline void wgmma_swizzled(float (&d)[Columns / 2], const unsigned (&a)[4], const SwizzledRows& b) {
    EmulatedSwizzledWgmma mine = {d, a, b, b, 0};
    autotune_warp_meet(0xffffffffu, "wgmma_swizzled", &mine, emulated_swizzled_work<Columns>);
}
