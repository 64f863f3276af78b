// rows_in_turn.cuh: long rows (rows.cuh), few at a time, each read from memory once. As many blocks
// as the chip has room for are AT_ONCE groups, and a group of SPLIT blocks has one row after the
// other. A block keeps the first HELD items of its threads' part of the row in registers, the next KEPT in
// shared memory; so few rows are under way that the L2 has the rest of them.
//
//   global -> shared, L2   a block's part of a row, and its state
//   states -> Row          when all parts of the row are there, in one order
//   shared, L2 -> global   the answers, those first that were read last
//
// A block has the same part of every row, so that what it needs for that part alone may stay: WEIGHED items of
// weights. But nothing says that all blocks of a group run at the same time. So parts are drawn, and a block that
// has waited for long draws those of others, which may not have begun.
#pragma once
#define KEEP partly
#ifndef WEIGHED
#define WEIGHED 0
#endif
#include "dependent_launch.cuh"
#include "rows.cuh"
static_assert(TEAM == THREADS, "a block has one row at a time");

// Turns counts the parts that are read of each row, and tells which are drawn. Its workspace is
// one of floats, as the states': exports for PyTorch have no others.
struct Turns {
    int *read, *drawn;
    __device__ __forceinline__ explicit Turns(float* turns) : read(reinterpret_cast<int*>(turns)), drawn(read + OUTER) {}
};

// clear_turns sets them to zero, in a launch before.
__device__ __forceinline__ void clear_turns(float* turns) {
    const long long i = blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x;
    if (i < OUTER * (1LL + SPLIT)) Turns(turns).read[i] = 0;
    begin_dependents();
}

// Waiting is what threads of a block know together of a row that others read, too.
struct Waiting {
    bool all_read;
    int drawn, ahead;  // what a part was before, and one of the next row: 0, or 1 if a block had it
};

// draw tells whether a part is this block's, and nobody else's.
__device__ __forceinline__ bool draw(Waiting& shared, int* drawn) {
    if (threadIdx.x == 0) shared.drawn = atomicExch(drawn, 1);
    __syncthreads();
    return shared.drawn == 0;
}

// all_read waits until all parts of a row are read, or until it has looked often enough. Meanwhile it draws a part of
// the next row, if any.
__device__ __forceinline__ bool all_read(Waiting& shared, const int* read, int looks, int* draws) {
    if (threadIdx.x == 0) {
        if (draws) shared.ahead = atomicExch(draws, 1);
        bool all;
        do all = *static_cast<const volatile int*>(read) == SPLIT;
        while (!all && --looks > 0);
        __threadfence();
        shared.all_read = all;
    }
    __syncthreads();
    return shared.all_read;
}

constexpr int kKept = KEPT < kLoaded ? KEPT / kUnroll * kUnroll : kLoaded;

// fetch makes the L2 read the first items of a part while the block waits.
__device__ __forceinline__ void fetch(const Vectors& of, const Element* x) {
#if !defined AUTOTUNE_EMULATOR
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
        if (of.whole(k)) asm volatile("prefetch.global.L2 [%0];" ::"l"(x + of.address(k)));
#endif
}

// Near are the weights of a block's part in shared memory, where each thread finds its own alone.
struct Near {
    Element* staged;
    Vectors own;

    template <class Weights>
    __device__ __forceinline__ Near(unsigned char* staged, const Weights& all, const Vectors& own) : staged(reinterpret_cast<Element*>(staged)), own(own) {
        if constexpr (WEIGHED > 0)
#pragma unroll 1
            for (int k = 0; k < WEIGHED; ++k) {
                if (all.weight) keep(all.weight, k, k);
                if (all.bias) keep(all.bias, k, k + WEIGHED);
            }
    }
    __device__ __forceinline__ Element* place(int item) const { return staged + (item * THREADS + static_cast<int>(threadIdx.x)) * VEC; }
    __device__ __forceinline__ void keep(const Element* from, int k, int item) const {
        float v[VEC];
        if (!own.whole(k)) return;
        load_once<VEC>(v, from + own.place(k));
        store_elements<VEC>(place(item), v);
    }
    // of gives the weights of an item, which its elements' places are added to.
    template <class Weights>
    __device__ __forceinline__ Weights of(Weights all, const Vectors& part, int k) const {
        if constexpr (WEIGHED > 0)
            if (k < WEIGHED && part.from == own.from) {
                if (all.weight) all.weight = place(k) - part.place(k);
                if (all.bias) all.bias = place(k + WEIGHED) - part.place(k);
            }
        return all;
    }
};

// row_of gives a row's state, whose parts are all read.
template <class Row>
__device__ __forceinline__ Row row_of(const unsigned* parts) {
    constexpr int kWords = sizeof(Row) / 4;
    Row state;
    state.start();
    for (int part = threadIdx.x; part < SPLIT; part += THREADS) {
        union {
            Row row;
            unsigned words[kWords];
        } other;
#pragma unroll
        for (int w = 0; w < kWords; ++w) other.words[w] = __ldcg(parts + part * kWords + w);
        state.merge(other.row);
    }
    return merge_team(state);
}

template <class T>
__device__ __forceinline__ void answer_in_turn(const Element* x, float* states, float* counters, T* y, const Weights& weights) {
    extern __shared__ __align__(16) unsigned char staged[];
    __shared__ Waiting shared;
    __shared__ int mine[SPLIT];  // parts of the row at hand: as a rule one
    constexpr int kLooks = 4096;
    const int group = blockIdx.x / SPLIT, own = blockIdx.x % SPLIT;
    const Near near(staged, weights, Vectors(0, own));
    wait_for_launches();
    const Turns turns(counters);
    bool begins = group < OUTER && draw(shared, turns.drawn + static_cast<long long>(group) * SPLIT + own);  // with its own part
    for (long long row = group; row < OUTER; row += AT_ONCE) {
        const bool more = row + AT_ONCE < OUTER;
        int* const next = turns.drawn + (row + AT_ONCE) * SPLIT + own;
        Row<float>* const parts = reinterpret_cast<Row<float>*>(states) + row * SPLIT;
        Kept kept;
        kept.staged = near.place(2 * WEIGHED) - threadIdx.x * VEC;
        kept.items = kKept;
        int count = 0;
        for (int turn = 0;; ++turn) {
            const int part = (own + turn) % SPLIT;
            if (turn == 0 ? begins : draw(shared, turns.drawn + row * SPLIT + part)) {
                Row<float> state;
                state.start();
                take_row(state, Vectors(row, part), kept, x);
                __syncthreads();  // all know the state of the row before
                state = merge_team(state);
                if (threadIdx.x == 0) {
                    mine[count] = part, parts[part] = state;
                    __threadfence();
                    atomicAdd(turns.read + row, 1);
                }
                ++count;
            }
            if (turn == 0 && more) fetch(Vectors(row + AT_ONCE, own), x);
            if (all_read(shared, turns.read + row, turn % SPLIT == 0 ? kLooks : 1, turn == 0 && more ? next : nullptr)) break;
        }
        begins = more && shared.ahead == 0;
        const Row<float> all = row_of<Row<float>>(reinterpret_cast<const unsigned*>(parts));
        while (count-- > 0) {
            const Vectors of(row, mine[count]);
            Row<float> state = all;
            Weights its = weights;
            state.finish({LENGTH, row, of.from == 0}, its);
            give_row(state, of, kept, x, y, [&](int k) { return near.of(its, of, k); });
            kept.items = 0, kept.holds = false;  // shared memory and registers have the part that was read last
        }
    }
}
