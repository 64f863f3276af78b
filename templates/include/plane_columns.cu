// plane_columns.cu: pools of planes, columns: windows are reduced down the columns in registers, then
// across the rows in shared memory.
//
// A window's sum is the sum of its columns' sums, its maximum that of their maxima, and
// neighbouring windows share columns. Each is reduced once, by one thread, for ROWS output rows at
// a time. Where windows do not overlap this is also the way to read the input in whole lines: a
// thread's own window would be KERNEL_W floats from the next.
//
// pool.cuh is the operator's own: the reduction, and what is made of it in the end.
//
//   global -> registers  every thread walks down VECTOR neighbouring columns
//                        and keeps one running result for each output row
//   registers -> shared  finished ones, one line an output row
//   shared -> global     every thread joins KERNEL_W of them into one output.
//                        A tile as wide as the output is stored as the flat run
//                        that it is in the tensor: warps write whole 128-byte
//                        lines, however odd the width
//
// Tunables
//   threads        per block; all walk down the columns, then all reduce across
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
//                  computed, at the price of registers
//   blocks_per_sm  makes the compiler use few enough registers for that many
//   streaming      stores that leave the L2 to the input's halo rows
#include "columns.cuh"
#include "pool.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
plane_columns(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float lines[]; // ROWS lines of PITCH columns, twice when there are steps
    pool_by_columns<Pool>(x, y, lines, {EPILOGUE_ARGUMENTS});
}
