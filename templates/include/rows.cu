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
//   once     the L2 gives up first what is kept here, and has more room for answers
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows(const Element* __restrict__ x, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    answer_rows(x, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
