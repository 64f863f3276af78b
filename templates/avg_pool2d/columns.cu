// avg_pool2d, columns: sums down the columns in registers, then across the rows
// in shared memory.
//
// A window's sum is the sum of its columns' sums, and neighbouring windows
// share columns: each is summed once, by one thread, for ROWS output rows at a
// time. Where windows do not overlap this is also the way to read the input in
// whole lines: a thread's own window would be KERNEL_W floats from the next.
//
//   global -> registers  every thread walks down VECTOR neighbouring columns
//                        and keeps one running sum for each output row
//   registers -> shared  finished sums, one line an output row
//   shared -> global     every thread adds KERNEL_W of them into one output.
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
#define N 16
#define C 64
#define H 2048
#define W 2048
#define KERNEL_H 11
#define KERNEL_W 11
#define STRIDE_H 11
#define STRIDE_W 11
#define PADDING_H 0
#define PADDING_W 0
#define CEIL_MODE 0
#define COUNT_INCLUDE_PAD 1
#define H_OUT 186
#define W_OUT 186
#endif
#define DILATION_H 1
#define DILATION_W 1
#ifndef THREADS
#define THREADS 512
#define ROWS 1
#define STEPS 1
#define TILE_COLUMNS 0
#define VECTOR 4
#define OUTPUTS 1
#define PREFETCH 0
#define AHEAD 16
#define BLOCKS_PER_SM 2
#define STREAMING 1
#define COLUMNS 186
#define PITCH 2048
#define SKIPPED 0
#define WALKED 2048
#endif
#include "average.cuh"
#include "pooling.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
avg_pool2d_columns(const float* __restrict__ x, float* __restrict__ y) {
    constexpr int Lead = lead(VECTOR), Runs = (WALKED + THREADS * VECTOR - 1) / (THREADS * VECTOR);
    extern __shared__ __align__(16) float lines[]; // ROWS lines of PITCH columns' sums, twice when there are steps

    const Tile tile = tile_of<ROWS * STEPS, COLUMNS>(blockIdx.x);
    const float* plane = x + tile.plane * ((long long)H * W);
    const int first_column = tile.column * STRIDE_W - PADDING_W - Lead;
    fill_margins<Sum, THREADS, (STEPS > 1 ? 2 : 1) * ROWS, PITCH, SKIPPED, WALKED>(lines, threadIdx.x);

    const int rows = min(ROWS * STEPS, H_OUT - tile.row);
    ColumnWalk<Sum, ROWS, VECTOR, PREFETCH> columns[Runs];
    for (int step = 0; step * ROWS < rows; ++step) {
        const int top = tile.row + step * ROWS;
        float* sums = lines + step % 2 * (ROWS * PITCH);
#pragma unroll
        for (int run = 0; run < Runs; ++run) {
            const int k = SKIPPED + (run * THREADS + (int)threadIdx.x) * VECTOR;
            if (k < SKIPPED + WALKED)
                columns[run].step<PITCH, AHEAD>(sums + k, plane, top * STRIDE_H - PADDING_H, first_column + k, step == 0,
                                                (step + 1) * ROWS >= rows);
        }
        __syncthreads();

        const long long first = (tile.plane * H_OUT + top) * W_OUT + tile.column;
        const int columns_left = min(COLUMNS, W_OUT - tile.column), rows_left = min(ROWS, H_OUT - top);
        // A flat run starts its warps on 128-byte lines.
        const int skew = COLUMNS == W_OUT ? (int)(first & 31) : 0;
#pragma unroll 2
        for (int k = (int)threadIdx.x * OUTPUTS - skew; k < rows_left * COLUMNS; k += THREADS * OUTPUTS) {
            const int row = k < 0 ? 0 : (unsigned)k / COLUMNS, column = k - row * COLUMNS;
            if (OUTPUTS == 4 && column >= 0 && column + 4 <= columns_left) {
                float outputs[4];
                reduce_four<Sum>(outputs, sums + row * PITCH, Lead + column * STRIDE_W);
#pragma unroll
                for (int v = 0; v < 4; ++v) outputs[v] = average(outputs[v], top + row, tile.column + column + v);
                put<4, STREAMING>(y + first + (long long)row * W_OUT + column, outputs);
                continue;
            }
            // The run may begin before the tile, end after it, or go on in the next row.
            for (int at = max(k, 0); at < k + OUTPUTS; ++at) {
                const int its_row = (unsigned)at / COLUMNS, its_column = at - its_row * COLUMNS;
                if (its_column >= columns_left || its_row >= rows_left) continue;
                const float sum = reduce_across<Sum>(sums + its_row * PITCH + Lead + its_column * STRIDE_W);
                const float mean = average(sum, top + its_row, tile.column + its_column);
                put<1, STREAMING>(y + first + (long long)its_row * W_OUT + its_column, &mean);
            }
        }
    }
}
