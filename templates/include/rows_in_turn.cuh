// rows_in_turn.cuh: long rows (rows.cuh), few at a time, each read from memory once. As many blocks
// as the chip has room for are AT_ONCE groups, and a group of SPLIT blocks has one row after the
// other. A block keeps the first HELD items of its threads' part of the row in registers, the next KEPT in
// shared memory; so few rows are under way that the L2 has the rest of them.
//
//   global -> shared, L2   a block's part of a row, and its state
//   states -> Row          when all parts of the row are there, in one order
//   shared, L2 -> global   the answers, those first that were read last
//
// Nothing says that all blocks of a group run at the same time. So parts are drawn: a block waits
// for parts that others drew before, whose blocks run and wait for earlier rows alone. Where all do
// run, each draws one part of each row. A block draws its next part before it says that it has read
// this one: none draws two of a row while another has none.
#pragma once
#define KEEP partly
#include "dependent_launch.cuh"
#include "rows.cuh"
static_assert(TEAM == THREADS, "a block has one row at a time");

// Turns counts the parts that are read of each row, and those that groups drew. Its workspace is
// one of floats, as the states': exports for PyTorch have no others.
struct Turns {
    int *read, *drawn;
    __device__ __forceinline__ explicit Turns(float* turns) : read(reinterpret_cast<int*>(turns)), drawn(read + OUTER) {}
};

// clear_turns sets them to zero, in a launch before.
__device__ __forceinline__ void clear_turns(float* turns) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < OUTER + AT_ONCE) Turns(turns).read[i] = 0;
    begin_dependents();
}

// fetch makes the L2 read the first items of a part while the block waits.
__device__ __forceinline__ void fetch(const Vectors& of, const Element* x) {
#if !defined AUTOTUNE_EMULATOR
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
        if (of.whole(k)) asm volatile("prefetch.global.L2 [%0];" ::"l"(x + of.address(k)));
#endif
}

// row_of gives a row's state once all of its parts are read.
template <class Row>
__device__ __forceinline__ Row row_of(const unsigned* parts, int* read) {
    constexpr int kWords = sizeof(Row) / 4;
    if (threadIdx.x == 0) {
        while (*static_cast<volatile int*>(read) < SPLIT) continue;
        __threadfence();
    }
    __syncthreads();
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
    constexpr int kKept = KEPT < kLoaded ? KEPT / kUnroll * kUnroll : kLoaded;
    extern __shared__ __align__(16) unsigned char staged[];
    __shared__ int next, mine[SPLIT];  // parts of the row at hand: as a rule one
    wait_for_launches();
    const Turns turns(counters);
    const int group = blockIdx.x / SPLIT;
    const auto row_at = [&](int drawn) { return static_cast<long long>(drawn / SPLIT) * AT_ONCE + group; };
    if (threadIdx.x == 0) next = atomicAdd(turns.drawn + group, 1);
    __syncthreads();
    for (int drawn = next; row_at(drawn) < OUTER;) {
        const long long row = row_at(drawn);
        Row<float>* const parts = reinterpret_cast<Row<float>*>(states) + row * SPLIT;
        Kept kept;
        kept.staged = reinterpret_cast<Element*>(staged);
        kept.items = kKept;
        int count = 0;
        do {
            const int part = drawn % SPLIT, ahead = threadIdx.x == 0 ? atomicAdd(turns.drawn + group, 1) : 0;
            Row<float> state;
            state.start();
            take_row(state, Vectors(row, part), kept, x);
            state = merge_team(state);
            if (threadIdx.x == 0) {
                mine[count] = part, next = ahead, parts[part] = state;
                __threadfence();
                atomicAdd(turns.read + row, 1);
            }
            __syncthreads();
            ++count, drawn = next;
        } while (row_at(drawn) == row);
        if (row_at(drawn) < OUTER) fetch(Vectors(row_at(drawn), drawn % SPLIT), x);
        const Row<float> all = row_of<Row<float>>(reinterpret_cast<const unsigned*>(parts), turns.read + row);
        __syncthreads();  // merge_team's memory is free
        while (count-- > 0) {
            const Vectors of(row, mine[count]);
            Row<float> state = all;
            Weights its = weights;
            state.finish({LENGTH, row, of.from == 0}, its);
            give_row(state, of, kept, x, y, its);
            kept.items = 0;  // shared memory and registers have the part that was read last
        }
    }
}
