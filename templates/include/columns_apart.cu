// columns_apart: long columns, and few (row_columns.cuh). PARTS blocks have a column. One launch
// leaves their states, in the next each thread merges those of its columns, always in the same
// order, and answers its part.
//
// Tunables: as in columns.cu; `parts` is as large as columns are few.
#define KEEP again
#include "dependent_launch.cuh"
#include "row_columns.cuh"

extern "C" __global__ void __launch_bounds__(ACROSS* DEEP) columns_apart_take(const Element* __restrict__ x, float* __restrict__ states) {
    const Columns of(blockIdx.x);
    const bool there = of.column < INNER;
    float own[kOwn][VEC];
    Row<float> mine[VEC];
    take_columns(mine, of, own, x, there);
    merge_columns(mine);
    if (there && of.deep == 0)
#pragma unroll
        for (int c = 0; c < VEC; ++c) reinterpret_cast<Row<float>*>(states)[of.state(of.part) + c] = mine[c];
    begin_dependents();
}

// Where columns have one answer, the blocks of their first parts do.
extern "C" __global__ void __launch_bounds__(ACROSS* DEEP)
    columns_apart_give(const Element* __restrict__ x, const float* __restrict__ states, Answer* __restrict__ y) {
    const Columns of(Row<float>::kMaps ? blockIdx.x : blockIdx.x / kWide * PARTS * kWide + blockIdx.x % kWide);
    wait_for_launches();
    if (of.column >= INNER || (!Row<float>::kMaps && of.deep > 0)) return;
    Row<float> all[VEC];
#pragma unroll
    for (int c = 0; c < VEC; ++c) {
        all[c].start();
        for (int part = 0; part < PARTS; ++part) all[c].merge(reinterpret_cast<const Row<float>*>(states)[of.state(part) + c]);
        all[c].finish(LENGTH);
    }
    float own[kOwn][VEC];
    if (Row<float>::kMaps)
        give_columns(all, of, own, x, y, NoWeights());
    else
        give_totals(all, of, y);
}
