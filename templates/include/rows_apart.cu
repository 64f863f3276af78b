// rows_apart: the frame of rows_apart.cuh.
//
// Tunables: as in rows.cu; `split` is as large as rows are few.
#include "rows_apart.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_take(const Element* __restrict__ x, float* __restrict__ states) { take_apart(x, states); }

extern "C" __global__ void __launch_bounds__(THREADS) rows_apart_merge(float* states) { merge_apart(states); }

extern "C" __global__ void __launch_bounds__(THREADS)
    rows_apart_give(const Element* __restrict__ x, const float* states, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    give_apart(x, states, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
