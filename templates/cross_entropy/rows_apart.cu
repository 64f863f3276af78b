// cross_entropy, rows_apart: two launches compute the losses of all rows (rows_apart.cu), and a third launch adds up
// the losses.
#include "rows_apart.cuh"
#include "row_losses.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_take(const Element* __restrict__ x, float* __restrict__ states) { take_apart(x, states); }

extern "C" __global__ void __launch_bounds__(THREADS)
    rows_apart_give(const Element* __restrict__ x, const float* states, const long long* __restrict__ target, const Element* __restrict__ weight,
                    float* losses) {
    give_apart(x, states, losses, WEIGHTS);
    begin_dependents();
}

extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_whole(const Element* __restrict__ x, const long long* __restrict__ target, const Element* __restrict__ weight, const float* losses,
                        Element* __restrict__ y) {
    answer_losses(losses, y, WEIGHTS);
}
