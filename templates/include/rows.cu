// rows: computes row operators, such as softmax, in one launch (rows.cuh). A team of threads, or a cluster of blocks,
// computes each row.
//
// Tunables:
//   threads: threads per block
//   team:    threads per row
//   split:   blocks per row, which form a cluster
//   vec:     elements per load
//   keep:    whether a row stays in registers or shared memory, or is read from memory again
//   unroll:  vectors that a thread loads at once
//   once:    whether the L2 evicts the input first, which leaves more room for the output
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows(const Element* __restrict__ x, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    answer_rows(x, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
