// rows_stream: the frame of rows_stream.cuh.
//
// Tunables
//   threads  of a block, and of a row
//   stages   rows of a block under way
//   per_sm   blocks of a multiprocessor: one answers while another merges states
#include "rows_stream.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM) rows_stream(const Element* __restrict__ x, Answer* __restrict__ y) {
    answer_in_stream(x, y, WEIGHTS);
}
