// rows_weighted_ahead: rows_ahead.cu where elements have weights.
#include "rows_ahead.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_ahead_clear(float* __restrict__ told) { clear_ahead(told); }

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    rows_ahead(const Element* __restrict__ x, float* told, const Element* __restrict__ weight, const Element* __restrict__ bias, Answer* __restrict__ y) {
    answer_ahead(x, told, y, {weight, bias, WEIGHTS});
}
