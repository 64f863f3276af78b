// rows_in_turn: the frame of rows_in_turn.cuh, after a launch that clears what blocks tell each other.
//
// Tunables: as in rows.cu, and
//   at_once   rows under way: few leave each row more shared memory, and need more blocks that meet
//   resident  blocks of a multiprocessor: one loads while another waits or answers
//   held      vectors of a thread in registers, where shared memory has not enough room
#include "rows_in_turn.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rows_in_turn_clear(float* __restrict__ states, float* __restrict__ turns) { clear_turns(states, turns); }

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    rows_in_turn(const Element* __restrict__ x, float* states, float* turns, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    answer_in_turn(x, states, turns, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
