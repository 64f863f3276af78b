// rows_ahead: the frame of rows_ahead.cuh, after a launch that clears what blocks tell each other.
//
// Tunables
//   threads   per block
//   resident  blocks of a multiprocessor: one brings and takes while another answers
//   piece     bytes that a block has of a row at once: small ones leave their places soon, and have a meeting each
#include "rows_ahead.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_ahead_clear(float* __restrict__ told) { clear_ahead(told); }

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) rows_ahead(const Element* __restrict__ x, float* told, Answer* __restrict__ y) {
    answer_ahead(x, told, y, WEIGHTS);
}
