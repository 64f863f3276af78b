// rows_apart: computes an operator on few long rows in several launches (rows_apart.cuh).
//
// The tunables are those of rows.cu; the fewer rows there are, the larger `split` should be.
#include "rows_apart.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_take(const Element* __restrict__ x, float* __restrict__ states) { take_apart(x, states); }

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_merge(float* states) { merge_apart(states); }

extern "C" __global__ void __launch_bounds__(THREADS)
    rows_apart_give(const Element* __restrict__ x, const float* states, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    give_apart(x, states, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
