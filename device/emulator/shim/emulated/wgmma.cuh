// wgmma.cuh, emulated: products read shared memory and write sums when a thread waits for them, as late
// as a GPU may. So a kernel that forgets a commit or a wait, or gives shared memory back too early, computes
// something else here. A forgotten fence is not caught.
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
    unsigned a[4];
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

// EmulatedProducts are those of a lane that have not ended.
struct EmulatedProducts {
    static constexpr int kMost = 256;
    struct Product {
        AutotuneWarpWork multiply;
        int group;
        alignas(16) char lane[80];
    };
    int size, group;  // products, and commits so far
    Product products[kMost];
};
inline EmulatedProducts& emulated_products() { return *static_cast<EmulatedProducts*>(autotune_products(sizeof(EmulatedProducts))); }

template <int Columns, int Depth, float (*Element)(unsigned word, int which), class Lane>
inline void emulated_wgmma_start(const Lane& mine) {
    EmulatedProducts& all = emulated_products();
    assert(all.size < EmulatedProducts::kMost && "more products are under way than the emulator has room for");
    EmulatedProducts::Product& product = all.products[all.size++];
    product.multiply = emulated_wgmma<Columns, Depth, Element, Lane>;
    product.group = all.group;
    static_assert(sizeof(Lane) <= sizeof product.lane, "a product has room");
    __builtin_memcpy(product.lane, &mine, sizeof mine);
}

// One lane multiplies for its warp whatever all have waited for.
struct EmulatedWait {
    EmulatedProducts* all;
    int groups;  // that may be under way
};
inline void emulated_wgmma_end(void** waits, unsigned members) {
    assert(members == 0xffffffffu && "wgmma needs all 32 lanes");
    EmulatedProducts* lanes[32];
    for (int lane = 0; lane < 32; ++lane) lanes[lane] = static_cast<EmulatedWait*>(waits[lane])->all;
    const int upto = lanes[0]->group - static_cast<EmulatedWait*>(waits[0])->groups;
    int ended = 0;
    for (; ended < lanes[0]->size && lanes[0]->products[ended].group < upto; ++ended) {
        void* parts[32];
        for (int lane = 0; lane < 32; ++lane) {
            assert(ended < lanes[lane]->size && lanes[lane]->products[ended].multiply == lanes[0]->products[ended].multiply &&
                   "lanes of a warp start the same products");
            parts[lane] = lanes[lane]->products[ended].lane;
        }
        lanes[0]->products[ended].multiply(parts, members);
    }
    for (EmulatedProducts* all : lanes) {
        all->size -= ended;
        __builtin_memmove(all->products, all->products + ended, all->size * sizeof all->products[0]);
    }
}
inline void emulated_wgmma_wait(int groups) {
    EmulatedWait mine = {&emulated_products(), groups};
    autotune_products_wait();
    autotune_warp_meet(0xffffffffu, "wgmma_wait", &mine, emulated_wgmma_end);
}

template <int Columns>
inline void wgmma_tf32(float (&d)[Columns / 2], const unsigned (&a)[4], Slabs b, bool add) {
    emulated_wgmma_start<Columns, 8, emulated_tf32>(EmulatedWgmma<Slabs>{d, {a[0], a[1], a[2], a[3]}, b, add});
}
template <int Columns>
inline void wgmma_fp16(float (&d)[Columns / 2], const unsigned (&a)[4], Slabs b, bool add) {
    emulated_wgmma_start<Columns, 16, emulated_fp16>(EmulatedWgmma<Slabs>{d, {a[0], a[1], a[2], a[3]}, b, add});
}

inline void wgmma_fence() {}
inline void wgmma_commit() { ++emulated_products().group; }
template <int Groups = 0, int Sums> inline void wgmma_wait(float (&)[Sums]) { emulated_wgmma_wait(Groups); }
template <int Registers> inline void more_registers() {}
template <int Registers> inline void fewer_registers() {}
