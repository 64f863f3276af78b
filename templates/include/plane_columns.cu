// plane_columns.cu: pools of planes: windows are reduced down the columns in registers, then across the rows in shared
// memory.
//
// A window's sum is the sum of its columns' sums, its maximum the maximum of its columns' maxima, and neighbouring
// windows share columns. Each column is reduced once, by one thread, for ROWS output rows at a time. Reducing columns
// first also reads the input in whole cache lines if windows do not overlap, whereas threads that read one window each
// would be KERNEL_W floats apart.
//
// Each operator's own pool.cuh defines the reduction, and the final step from a reduced window to an output.
//
//   global -> registers: every thread walks down VECTOR neighbouring columns
//                        and keeps one running result for each output row.
//   registers -> shared: finished results, one line per output row.
//   shared -> global:    every thread reduces KERNEL_W results to one output.
//                        A tile as wide as the output is a flat run of the
//                        tensor: warps write whole 128-byte lines, whatever
//                        the width.
//
// Tunables:
//   threads:       threads per block; all walk down the columns, then all reduce across.
//   rows:          output rows per step: more rows keep more loads in flight, but take shared memory.
//   steps:         steps per tile; the columns' unfinished windows stay in registers
//                  from step to step, so more steps load fewer rows twice, and
//                  fewer steps leave more blocks to fill the chip.
//   tile_columns:  output columns per tile; 0: the whole row, stored as a flat run.
//   vector:        floats per load and columns per thread in the first step.
//   ahead:         input rows unrolled, hence loads in flight.
//   outputs:       outputs per thread in the second step: four outputs share loads and
//                  a 16-byte store, single outputs need no alignment.
//   prefetch       loads the next step's rows before this step's outputs are
//                  computed, at the price of registers.
//   blocks_per_sm: makes the compiler use few enough registers for that many blocks.
//   streaming:     whether stores are streaming, which leaves the L2 to the halo rows.
#include "columns.cuh"
#include "pool.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
plane_columns(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float lines[]; // ROWS lines of PITCH columns, twice when there are steps
    pool_by_columns<Pool>(x, y, lines, {EPILOGUE_ARGUMENTS});
}
