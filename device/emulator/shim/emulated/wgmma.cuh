// wgmma.cuh, emulated: a wgmma reads shared memory and writes its accumulators only when a thread waits for it. A
// kernel that forgets a commit or a wait, or overwrites shared memory too early, therefore computes wrong results.
// The emulator does not detect a forgotten fence.
#pragma once

#include "elements.cuh"
#include "row_product.cuh"

// emulated_word returns 32-bit word `at` of a row of A or a column of B in shared memory, in the lower or upper half
// of k.
inline unsigned emulated_word(const Slabs& operand, int line, int half, int at) {
    return reinterpret_cast<const unsigned*>(operand.first + half * operand.apart + line * 16)[at];
}

// emulated_element returns the 16-bit element at index k of a row of A or a column of B, with k from 0 to 15.
template <bool AlongK, int Line>
inline unsigned emulated_element(const SwizzledLines<AlongK, Line>& of, int line, int k) {
    const int row = AlongK ? line % 8 : of.product * 16 + k;  // in the bytes of a line
    const int at = AlongK ? of.product * 16 + k : line % 64;  // in the row
    const int apart = AlongK && of.apart == 0 ? 8 * Line : of.apart;
    const size_t there = reinterpret_cast<size_t>(of.first) + line / (AlongK ? 8 : 64) * apart + row * Line + at * 2;
    return *reinterpret_cast<const unsigned short*>(there ^ there / 128 % (Line / 16) * 16);
}

template <bool AlongK, int Line>
inline unsigned emulated_word(const SwizzledLines<AlongK, Line>& of, int line, int half, int at) {
    static_assert(AlongK || Line == 128, "lines across have 128 bytes");
    assert(reinterpret_cast<size_t>(of.first) % (AlongK ? Line : 8 * Line) == 0 && "swizzled lines across begin at a multiple of eight of them");
    assert(!AlongK || of.product < Line / 32);
    const int k = half * 8 + at * 2;
    return emulated_element(of, line, k) | emulated_element(of, line, k + 1) << 16;
}

// EmulatedWgmma is one lane's part of a wgmma whose operand A is in registers. word returns a register of the lane
// that holds the row.
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

// emulated_wgmma computes a warp's 16 rows of a wgmma.
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
        float* of[4];  // sums of this row, by lane
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

// EmulatedProducts holds the wgmmas that a lane has issued and not yet waited for.
struct EmulatedProducts {
    static constexpr int kMost = 256;
    struct Product {
        AutotuneWarpWork multiply;
        int group;
        alignas(16) char lane[80];
    };
    int size, group;  // number of products, and of commits so far
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

// EmulatedWait records for which wgmmas a lane waits; once all lanes of a warp wait, one lane computes the products.
struct EmulatedWait {
    EmulatedProducts* all;
    int groups;  // that may stay in flight
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

template <class A, class B>
struct EmulatedSharedWgmma {
    float* d;
    A a;
    B b;
    bool add;
    int first_row = int(threadIdx.x / 32 % 4 * 16);  // the warp's first row
    static unsigned word(void** lanes, int row, int half, int at) {
        const EmulatedSharedWgmma& all = *static_cast<EmulatedSharedWgmma*>(lanes[0]);
        return emulated_word(all.a, all.first_row + row, half, at);
    }
};

template <WgmmaType Type, int Columns, class Lane>
inline void emulated_wgmma_of(const Lane& lane) {
    if constexpr (Type == wgmma_of_tf32)
        emulated_wgmma_start<Columns, 8, emulated_tf32>(lane);
    else
        emulated_wgmma_start<Columns, 16, Type == wgmma_of_bf16 ? emulated_bf16 : emulated_fp16>(lane);
}
template <WgmmaType Type, int Columns, class A, class B, bool AcrossA = A::kAcross>
inline void wgmma(float (&d)[Columns / 2], const A& a, const B& b, bool add = true) {
    emulated_wgmma_of<Type, Columns>(EmulatedSharedWgmma<A, B>{d, a, b, add});
}
template <WgmmaType Type, int Columns, class B>
inline void wgmma(float (&d)[Columns / 2], const unsigned (&a)[4], const B& b, bool add = true) {
    emulated_wgmma_of<Type, Columns>(EmulatedWgmma<B>{d, {a[0], a[1], a[2], a[3]}, b, add});
}

inline void wgmma_fence() {}
inline void wgmma_commit() { ++emulated_products().group; }
template <int Groups = 0, int Sums> inline void wgmma_wait(float (&)[Sums]) { emulated_wgmma_wait(Groups); }
template <int Groups> inline void wgmma_wait_groups() { emulated_wgmma_wait(Groups); }
template <int Registers> inline void more_registers() {}
template <int Registers> inline void fewer_registers() {}
