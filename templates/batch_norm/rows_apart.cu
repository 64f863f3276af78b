// batch_norm, rows_apart: the kernels of rows_apart.cu, with the running mean and variance as further arguments.
#include "rows_apart.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_take(const Element* __restrict__ x, float* __restrict__ states) { take_apart(x, states); }

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_merge(float* states) { merge_apart(states); }

extern "C" __global__ void __launch_bounds__(THREADS)
    rows_apart_give(const Element* __restrict__ x, const float* states, const Element* __restrict__ weight,
                    const Element* __restrict__ bias, Answer* __restrict__ y, Element* __restrict__ running_mean,
                    Element* __restrict__ running_var EPILOGUE_PARAMETERS) {
    give_apart(x, states, y, {weight, bias, WEIGHTS}, Epilogue{EPILOGUE_ARGUMENTS});
}
