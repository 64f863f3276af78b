// rows_in_turn: the kernels of rows_in_turn.cuh. A first launch clears the memory through which blocks exchange partial
// results.
//
// Tunables, besides those of rows.cu:
//   at_once:  rows that are computed at once
//   resident: blocks per multiprocessor
//   held:     vectors that a thread keeps in registers, if shared memory is too small
#include "rows_in_turn.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_in_turn_clear(float* __restrict__ states, float* __restrict__ turns) { clear_turns(states, turns); }

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    rows_in_turn(const Element* __restrict__ x, float* states, float* turns, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    answer_in_turn(x, states, turns, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
