// rows: the frame of rows.cuh for elements that follow each other, in one launch. A warp or less,
// a block, or a cluster of blocks has a row.
//
// Tunables
//   threads  of a block
//   team     threads of a row: few leave several rows to a block, and need no barrier
//   split    blocks of a row, a cluster: rows that no block can keep, or too few rows for the chip
//   vec      elements of a load
//   keep     where a row is until its state is known: registers; shared memory, which holds more;
//            or `again`, a second read, which the L2 answers while few rows are under way
//   unroll   vectors a thread has under way; with `registers` it is all
#include "row_cluster.cuh"
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows(const Element* __restrict__ x, Answer* __restrict__ y) {
    extern __shared__ __align__(16) unsigned char staged[];
    const long long team = static_cast<long long>(blockIdx.x / SPLIT) * (THREADS / TEAM) + threadIdx.x / TEAM;
    const long long row = team < OUTER ? team : OUTER - 1LL;  // one more time, but not stored
    const int from = blockIdx.x % SPLIT * kItems * TEAM + threadIdx.x % TEAM;

    const Vectors of(x, row);
    Kept kept;
    kept.staged = reinterpret_cast<Element*>(staged);
    Row<float> state;
    state.start();
    take_row(state, of, kept, from);
    state = merge_cluster(merge_team<TEAM, THREADS>(state));
    if (team >= OUTER) return;
    state.finish(LENGTH);
    if (Row<float>::kMaps)
        give_row(state, of, kept, y + row * LENGTH, NoWeights(), from);
    else if (from == 0)
        y[row] = to_answer(state.give(0.0f, 0, NoWeights()));
}
