// rows_in_turn.cuh: kernels for rows (rows.cuh) that are too long for one block, but fit into registers, shared
// memory and the L2, so that each is read from memory only once. The blocks form AT_ONCE groups of SPLIT blocks; a
// group computes one row after the other. A thread keeps HELD vectors of a row in registers and KEPT vectors in
// shared memory; the L2 holds the rest.
//
// The blocks of a group exchange partial sums, but may not all run at the same time. An atomic counter therefore
// assigns parts of rows to blocks in order, so that a block waits only for parts that other running blocks have
// taken.
#pragma once
#define KEEP partly
#include "dependent_launch.cuh"
#include "told_states.cuh"
static_assert(TEAM == THREADS, "a block has one row at a time");

// clear_turns clears, in an earlier launch, the memory through which blocks exchange partial results.
__device__ __forceinline__ void clear_turns(float* states, float* drawn) {
    clear_told(states, static_cast<long long>(OUTER) * SPLIT);
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < AT_ONCE) reinterpret_cast<int*>(drawn)[i] = 0;
    begin_dependents();
}

// fetch prefetches the first vectors of a part of a row into the L2 while the block waits.
__device__ __forceinline__ void fetch(const Vectors& of, const Element* x) {
#if !defined AUTOTUNE_EMULATOR
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
        if (of.whole(k)) asm volatile("prefetch.global.L2 [%0];" ::"l"(x + of.address(k)));
#endif
}

template <class T, class AnyEpilogue = NoEpilogue>
__device__ __forceinline__ void answer_in_turn(const Element* x, float* states, float* turns, T* y, const Weights& weights,
                                               const AnyEpilogue& epilogue = {}) {
    constexpr int kKept = KEPT < kLoaded ? KEPT / kUnroll * kUnroll : kLoaded;
    extern __shared__ __align__(16) unsigned char staged[];
    __shared__ int next, mine[SPLIT];  // the block's parts of the current row, usually one
    wait_for_launches();
    const int group = blockIdx.x / SPLIT;
    int* const from = reinterpret_cast<int*>(turns) + group;
    const auto row_at = [&](int drawn) { return static_cast<long long>(drawn / SPLIT) * AT_ONCE + group; };
    if (threadIdx.x == 0) next = atomicAdd(from, 1);
    __syncthreads();
    for (int drawn = next; row_at(drawn) < OUTER;) {
        const long long row = row_at(drawn);
        Told* const told = told_in(states) + row * SPLIT * kWords;
        Kept kept;
        kept.staged = reinterpret_cast<Element*>(staged);
        kept.items = kKept;
        int count = 0;
        do {
            const int part = drawn % SPLIT, ahead = threadIdx.x == 0 ? atomicAdd(from, 1) : 0;
            Row<float> state;
            state.start();
            take_row(state, Vectors(row, part), kept, x);
            state = merge_team(state);
            if (threadIdx.x == 0) {
                mine[count] = part, next = ahead;
                tell(told + part * kWords, state);
            }
            __syncthreads();
            ++count, drawn = next;
        } while (row_at(drawn) == row);
        if (row_at(drawn) < OUTER) fetch(Vectors(row_at(drawn), drawn % SPLIT), x);
        const Row<float> all = all_told<SPLIT>(told);
        __syncthreads();  // all threads have left merge_team
        while (count-- > 0) {
            const Vectors of(row, mine[count]);
            Row<float> state = all;
            Weights its = weights;
            state.finish({LENGTH, row, of.from == 0}, its);
            give_row(state, of, kept, x, y, its, epilogue);
            kept.items = 0;  // registers and shared memory hold only the part that was read last
        }
    }
}
