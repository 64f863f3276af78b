// rows: computes an operator on rows in one launch (rows.cuh). A team of threads, or a cluster of blocks, computes each
// row.
//
// Tunables:
//   threads: threads per block.
//   team:    threads per row: with few, a block computes several rows.
//   split:   blocks per row, which form a cluster: for rows that do not fit into one block, or for few rows.
//   vec:     elements per load.
//   keep:    where a row stays until its state is known: in registers; in shared memory, which is larger;
//            or `again`, which reads the row a second time, from the L2 if few rows are in flight.
//   unroll:  vectors that a thread has in flight; with `registers`, all of its vectors.
//   once:    whether the L2 evicts the input first, which leaves more room for the output.
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows(const Element* __restrict__ x, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    answer_rows(x, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
