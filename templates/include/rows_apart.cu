// rows_apart: few long rows (rows.cuh). SPLIT blocks have a row. One launch leaves their states, in
// the next each block merges those of its rows, always in the same order, and answers its part.
//
// Tunables: as in rows.cu; `split` is as large as rows are few.
#define KEEP again
#include "dependent_launch.cuh"
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_take(const Element* __restrict__ x, float* __restrict__ states) {
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    Kept kept;
    Row<float> state;
    state.start();
    take_row(state, of, kept, x);
    state = merge_team(state);
    if (of.there && of.member == 0) reinterpret_cast<Row<float>*>(states)[of.row * SPLIT + blockIdx.x % SPLIT] = state;
    begin_dependents();
}

// Where rows have one answer, the block of their first part does.
extern "C" __global__ void __launch_bounds__(THREADS)
    rows_apart_give(const Element* __restrict__ x, const float* __restrict__ states, Answer* __restrict__ y) {
    constexpr int kParts = Row<float>::kMaps ? SPLIT : 1;
    const Vectors of(blockIdx.x / kParts, blockIdx.x % kParts);
    wait_for_launches();
    Row<float> state;
    state.start();
    for (int part = of.member; part < SPLIT; part += TEAM) state.merge(reinterpret_cast<const Row<float>*>(states)[of.row * SPLIT + part]);
    state = merge_team(state);
    if (!of.there) return;
    state.finish(LENGTH);
    if (Row<float>::kMaps)
        give_row(state, of, Kept(), x, y, NoWeights());
    else if (of.member == 0)
        y[of.row] = to_answer(state.give(0.0f, 0, NoWeights()));
}
