// columns: the same for elements INNER apart, in one launch: threads side by side have columns
// side by side, so that all they read at once lies side by side in memory.
//
// Tunables
//   across   threads side by side: as many neighbouring columns, times vec, a block
//   deep     threads that share a column: more of it is under way, and their states are merged
//   vec      adjacent columns a thread: wider loads, where rows begin aligned to as many
//   keep     where a thread's part of a column is until its state is known: registers, or `again`,
//            a second read, which the caches answer
//   unroll   rows a thread has under way; with `registers` it is all
#include "row_columns.cuh"

extern "C" __global__ void __launch_bounds__(ACROSS* DEEP) columns(const Element* __restrict__ x, Answer* __restrict__ y) {
    const Columns of(blockIdx.x);
    const bool there = of.column < INNER;
    float own[kOwn][VEC];
    Row<float> states[VEC];
    take_columns(states, of, own, x, there);
    merge_columns(states);
    if (!there) return;
#pragma unroll
    for (int c = 0; c < VEC; ++c) states[c].finish(LENGTH);
    if (Row<float>::kMaps)
        give_columns(states, of, own, x, y, NoWeights());
    else if (of.first == 0)
        give_totals(states, of, y);
}
