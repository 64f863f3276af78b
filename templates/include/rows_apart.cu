// rows_apart: few long rows (rows.cuh). Many blocks have a row. One launch leaves their states, in
// the next each block merges those of its row, always in the same order, and answers its part.
//
// Tunables: as in rows.cu; `split` is as large as rows are few.
#define KEEP again
#include "dependent_launch.cuh"
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_take(const Element* __restrict__ x, float* __restrict__ states) {
    const Vectors of(x, blockIdx.x / SPLIT);
    Kept kept;
    Row<float> state;
    state.start();
    take_row(state, of, kept, blockIdx.x % SPLIT * kItems * TEAM + threadIdx.x);
    state = merge_team<TEAM, THREADS>(state);
    if (threadIdx.x == 0) reinterpret_cast<Row<float>*>(states)[blockIdx.x] = state;
    begin_dependents();
}

// Where rows have one answer, a block a row does.
extern "C" __global__ void __launch_bounds__(THREADS)
    rows_apart_give(const Element* __restrict__ x, const float* __restrict__ states, Answer* __restrict__ y) {
    constexpr int kBlocks = Row<float>::kMaps ? SPLIT : 1;  // of a row
    const long long row = blockIdx.x / kBlocks;
    wait_for_launches();
    Row<float> state;
    state.start();
    for (int part = threadIdx.x; part < SPLIT; part += THREADS) state.merge(reinterpret_cast<const Row<float>*>(states)[row * SPLIT + part]);
    state = merge_team<TEAM, THREADS>(state);
    state.finish(LENGTH);
    if (Row<float>::kMaps)
        give_row(state, Vectors(x, row), Kept(), y + row * LENGTH, NoWeights(), blockIdx.x % SPLIT * kItems * TEAM + threadIdx.x);
    else if (threadIdx.x == 0)
        y[row] = to_answer(state.give(0.0f, 0, NoWeights()));
}
