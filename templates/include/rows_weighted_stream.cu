// rows_weighted_stream: rows_stream.cu where elements have weights.
#include "rows_stream.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
    rows_weighted_stream(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias, Answer* __restrict__ y) {
    answer_in_stream(x, y, {weight, bias, WEIGHTS});
}
