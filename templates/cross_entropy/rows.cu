// cross_entropy, rows: one launch computes the losses of all rows (rows.cu), and a second launch adds up the losses.
#include "rows.cuh"
#include "row_losses.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    cross_entropy_rows(const Element* __restrict__ x, const long long* __restrict__ target, const Element* __restrict__ weight, float* __restrict__ losses) {
    answer_rows(x, losses, WEIGHTS);
    begin_dependents();
}

extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_whole(const Element* __restrict__ x, const long long* __restrict__ target, const Element* __restrict__ weight, const float* losses,
                        Element* __restrict__ y) {
    answer_losses(losses, y, WEIGHTS);
}
