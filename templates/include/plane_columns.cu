// plane_columns.cu: 2-D pooling: windows are reduced down the columns in registers, then across the rows in shared
// memory.
//
// Neighbouring windows share columns, so one thread reduces each column once, for ROWS output rows at a time.
//
// Each operator's pool.cuh defines the reduction (maximum or average).
//
//   global -> registers: each thread reads VECTOR neighbouring columns and keeps one result per output row
//   registers -> shared: the results of all columns
//   shared -> global:    each thread reduces KERNEL_W column results to one output
//
// Tunables:
//   threads:       threads per block
//   rows:          output rows per step
//   steps:         steps per tile
//   tile_columns:  output columns per tile; 0 means the whole row
//   vector:        floats per load, and columns per thread in the first step
//   ahead:         input rows that are unrolled, hence loads in flight
//   outputs:       outputs per thread in the second step: 4 allow 16-byte stores
//   prefetch:      whether the next step's rows are loaded before this step's outputs are computed
//   blocks_per_sm: blocks per multiprocessor for which the compiler limits registers
//   streaming:     whether stores are streaming, so that input rows stay in the L2
#include "columns.cuh"
#include "pool.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
plane_columns(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float lines[]; // ROWS lines of PITCH columns, twice when there are steps
    pool_by_columns<Pool>(x, y, lines, {EPILOGUE_ARGUMENTS});
}
