// max_pool2d, columns: maxima down the columns in registers, then across the
// rows in shared memory.
//
// A window's maximum is the maximum of its columns' maxima, and neighbouring
// windows share columns: each is reduced once, by one thread, for ROWS output
// rows at a time.
//
//   global -> registers  every thread walks down VECTOR neighbouring columns
//                        and keeps one running maximum for each output row
//   registers -> shared  finished maxima, one line an output row
//   shared -> global     every thread joins KERNEL_W of them into one output.
//                        A tile as wide as the output is stored as the flat run
//                        that it is in the tensor: warps write whole 128-byte
//                        lines, however odd the width
//
// Tunables
//   threads        per block; all walk down first, then all reduce across
//   rows           output rows per step: loads in flight, and shared memory
//   steps          per tile; the columns' unfinished windows stay in registers
//                  from step to step, so more load fewer rows twice, and fewer
//                  leave more blocks to fill the chip
//   tile_columns   output columns per tile; 0: the whole row, stored as a flat run
//   vector         floats per load and columns per thread in the first step
//   ahead          input rows unrolled, hence loads in flight
//   outputs        outputs per thread in the second step: four share loads and
//                  a 16-byte store, one needs no thought of alignment
//   prefetch       loads the next step's rows before this step's outputs are
//                  made, for the registers to hold them
//   blocks_per_sm  asks the compiler for few enough registers for that many
//   streaming      stores that leave the L2 to the input's shared rows
#ifndef N
#define N 32
#define C 64
#define H 512
#define W 512
#define KERNEL_H 4
#define KERNEL_W 4
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 1
#define PADDING_W 1
#define DILATION_H 1
#define DILATION_W 1
#define H_OUT 511
#define W_OUT 511
#endif
#ifndef THREADS
#define THREADS 128
#define ROWS 8
#define STEPS 1
#define TILE_COLUMNS 0
#define VECTOR 4
#define OUTPUTS 1
#define PREFETCH 0
#define AHEAD 16
#define BLOCKS_PER_SM 4
#define STREAMING 1
#define COLUMNS 511
#define PITCH 516
#define SKIPPED 4
#define WALKED 512
#endif
#include "columns.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
max_pool2d_columns(const float* __restrict__ x, float* __restrict__ y) {
    extern __shared__ __align__(16) float lines[]; // ROWS lines of PITCH columns' maxima, twice when there are steps
    pool_by_columns<Maximum>(x, y, lines, [](float maximum, int, int) { return maximum; });
}
