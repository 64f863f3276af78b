// rows_apart.cuh: few long rows (rows.cuh). SPLIT blocks have a row. One launch leaves their states,
// in the next each block merges those of its rows, always in the same order, and answers its part.
#pragma once
#define KEEP again
#include "dependent_launch.cuh"
#include "rows.cuh"

__device__ __forceinline__ void take_apart(const Element* x, float* states) {
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    Kept kept;
    Row<float> state;
    state.start();
    take_row(state, of, kept, x);
    state = merge_team(state);
    if (of.there && of.member == 0) reinterpret_cast<Row<float>*>(states)[of.row * SPLIT + blockIdx.x % SPLIT] = state;
    begin_dependents();
}

// Where rows have one answer, the block of their first part gives it.
template <class T>
__device__ __forceinline__ void give_apart(const Element* x, const float* states, T* y, Weights weights) {
    constexpr int kParts = Row<float>::kMaps ? SPLIT : 1;
    const Vectors of(blockIdx.x / kParts, blockIdx.x % kParts);
    wait_for_launches();
    Row<float> state;
    state.start();
    for (int part = of.member; part < SPLIT; part += TEAM) state.merge(reinterpret_cast<const Row<float>*>(states)[of.row * SPLIT + part]);
    state = merge_team(state);
    if (!of.there) return;
    state.finish({LENGTH, of.row, of.from == 0}, weights);
    if constexpr (Row<float>::kMaps)
        give_row(state, of, Kept(), x, y, weights);
    else if (of.member == 0)
        y[of.row] = to_answer<T>(state.give(0.0f, 0, weights));
}
