// batch_norm, rows_in_turn: the kernels of rows_in_turn.cu, with the running mean and variance as further arguments.
#include "rows_in_turn.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_in_turn_clear(float* __restrict__ states, float* __restrict__ turns) { clear_turns(states, turns); }

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    rows_in_turn(const Element* __restrict__ x, float* states, float* turns, const Element* __restrict__ weight,
                 const Element* __restrict__ bias, Answer* __restrict__ y, Element* __restrict__ running_mean,
                 Element* __restrict__ running_var EPILOGUE_PARAMETERS) {
    answer_in_turn(x, states, turns, y, {weight, bias, WEIGHTS}, Epilogue{EPILOGUE_ARGUMENTS});
}
