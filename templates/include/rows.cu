// rows: the frame of rows.cuh in one launch. A team of threads has a row, or a cluster of blocks.
//
// Tunables
//   threads  of a block
//   team     threads of a row: few leave several rows to a block
//   split    blocks of a row, a cluster: rows that no block can keep, or too few rows for the chip
//   vec      elements of a load
//   keep     where a row is until its state is known: registers; shared memory, which holds more;
//            or `again`, a second read, which the L2 answers while few rows are under way
//   unroll   vectors a thread has under way; with `registers` it is all
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows(const Element* __restrict__ x, Answer* __restrict__ y) {
    extern __shared__ __align__(16) unsigned char staged[];
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    Kept kept;
    kept.staged = reinterpret_cast<Element*>(staged);
    Row<float> state;
    state.start();
    take_row(state, of, kept, x);
    state = merge_cluster(merge_team(state));
    if (!of.there) return;
    state.finish(LENGTH);
    if (Row<float>::kMaps)
        give_row(state, of, kept, x, y, NoWeights());
    else if (of.from == 0)
        y[of.row] = to_answer(state.give(0.0f, 0, NoWeights()));
}
