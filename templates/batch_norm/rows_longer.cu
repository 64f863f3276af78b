// batch_norm, rows_longer: the frame of rows_longer.cuh with running statistics, after a launch that clears
// what blocks tell each other.
//
// Tunables
//   threads   per block
//   piece     bytes that a block brings at once
//   passing   pieces under way beside those that stay: more hide the memory's latency, and leave fewer to stay
//   held      pieces in registers
#include "rows_longer.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_longer_clear(float* __restrict__ told) { clear_longer(told); }

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    rows_longer(const Element* __restrict__ x, float* told, const Element* __restrict__ weight, const Element* __restrict__ bias, Answer* __restrict__ y,
                Element* __restrict__ running_mean, Element* __restrict__ running_var) {
    answer_longer(x, told, y, {weight, bias, WEIGHTS});
}
