// wgmma.cuh, emulated: a product is finished when it is issued, so a kernel that
// forgets a fence, a commit or a wait is not caught here.
#pragma once

#include "elements.cuh"
#include "row_product.cuh"

// emulated_word is 4 bytes of an operand in shared memory: of a line, a row of A or a column
// of B, in the lower or the upper half of the depth.
inline unsigned emulated_word(const Slabs& operand, int line, int half, int at) {
    return reinterpret_cast<const unsigned*>(operand.first + half * operand.apart + line * 16)[at];
}

// word is those of A. Lanes hold A's rows in their registers.
template <class Operand>
struct EmulatedWgmma {
    float* d;
    const unsigned* a;
    Operand b;
    bool add;
    static unsigned word(void** lanes, int row, int half, int at) {
        return static_cast<EmulatedWgmma*>(lanes[row % 8 * 4 + at])->a[row / 8 + half * 2];
    }
};

// One lane multiplies for its warp: 16 rows, Depth elements, Columns columns. Lane says
// where A is.
template <int Columns, int Depth, float (*Element)(unsigned word, int which), class Lane>
inline void emulated_wgmma(void** lanes, unsigned members) {
    assert(members == 0xffffffffu && "wgmma needs all 32 lanes");
    const Lane& all = *static_cast<Lane*>(lanes[0]);
    constexpr int half = Depth / 2, per_word = Depth / 8;
    float b[Depth][Columns];
    for (int k = 0; k < Depth; ++k)
        for (int column = 0; column < Columns; ++column)
            b[k][column] = Element(emulated_word(all.b, column, k / half, k % half / per_word), k % per_word);
    for (int row = 0; row < 16; ++row) {
        float* of[4];  // the lanes' sums of the row
        for (int lane = 0; lane < 4; ++lane) of[lane] = static_cast<Lane*>(lanes[row % 8 * 4 + lane])->d + row / 8 * 2;
        auto home = [&](int column) -> float& { return of[column % 8 / 2][column / 8 * 4 + column % 2]; };
        float a[Depth];
        for (int k = 0; k < Depth; ++k) a[k] = Element(Lane::word(lanes, row, k / half, k % half / per_word), k % per_word);
        double sums[Columns];
        for (int column = 0; column < Columns; ++column) sums[column] = all.add ? home(column) : 0.0f;
        emulated_row_product(sums, a, b);
        for (int column = 0; column < Columns; ++column) home(column) = (float)sums[column];
    }
}

// emulated_wgmma_start is what every product does: its warp's lanes meet, and one multiplies.
template <int Columns, int Depth, float (*Element)(unsigned word, int which), class Lane>
inline void emulated_wgmma_start(const char* name, Lane mine) {
    autotune_warp_meet(0xffffffffu, name, &mine, emulated_wgmma<Columns, Depth, Element, Lane>);
}

template <int Columns>
inline void wgmma_tf32(float (&d)[Columns / 2], const unsigned (&a)[4], Slabs b, bool add) {
    emulated_wgmma_start<Columns, 8, emulated_tf32>("wgmma_tf32", EmulatedWgmma<Slabs>{d, a, b, add});
}
template <int Columns>
inline void wgmma_fp16(float (&d)[Columns / 2], const unsigned (&a)[4], Slabs b, bool add) {
    emulated_wgmma_start<Columns, 16, emulated_fp16>("wgmma_fp16", EmulatedWgmma<Slabs>{d, a, b, add});
}

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int Groups = 0, int Sums> inline void wgmma_wait(float (&)[Sums]) {}
template <int Registers> inline void more_registers() {}
template <int Registers> inline void fewer_registers() {}
