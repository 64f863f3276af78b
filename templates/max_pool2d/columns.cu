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
#include "pooling.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
max_pool2d_columns(const float* __restrict__ x, float* __restrict__ y) {
    constexpr int Lead = lead(VECTOR), Runs = (WALKED + THREADS * VECTOR - 1) / (THREADS * VECTOR);
    extern __shared__ __align__(16) float lines[]; // ROWS lines of PITCH columns' maxima, twice when there are steps

    const Tile tile = tile_of<ROWS * STEPS, COLUMNS>(blockIdx.x);
    const float* plane = x + tile.plane * ((long long)H * W);
    const int first_column = tile.column * STRIDE_W - PADDING_W - Lead;
    fill_margins<Maximum, THREADS, (STEPS > 1 ? 2 : 1) * ROWS, PITCH, SKIPPED, WALKED>(lines, threadIdx.x);

    const int rows = min(ROWS * STEPS, H_OUT - tile.row);
    ColumnWalk<Maximum, ROWS, VECTOR, PREFETCH> columns[Runs];
    for (int step = 0; step * ROWS < rows; ++step) {
        const int top = tile.row + step * ROWS;
        float* maxima = lines + step % 2 * (ROWS * PITCH);
#pragma unroll
        for (int run = 0; run < Runs; ++run) {
            const int k = SKIPPED + (run * THREADS + (int)threadIdx.x) * VECTOR;
            if (k < SKIPPED + WALKED)
                columns[run].step<PITCH, AHEAD>(maxima + k, plane, top * STRIDE_H - PADDING_H, first_column + k, step == 0,
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
                reduce_four<Maximum>(outputs, maxima + row * PITCH, Lead + column * STRIDE_W);
                put<4, STREAMING>(y + first + (long long)row * W_OUT + column, outputs);
                continue;
            }
            // The run may begin before the tile, end after it, or go on in the next row.
            for (int at = max(k, 0); at < k + OUTPUTS; ++at) {
                const int its_row = (unsigned)at / COLUMNS, its_column = at - its_row * COLUMNS;
                if (its_column >= columns_left || its_row >= rows_left) continue;
                const float largest =
                    reduce_across<Maximum>(maxima + its_row * PITCH + Lead + its_column * STRIDE_W);
                put<1, STREAMING>(y + first + (long long)its_row * W_OUT + its_column, &largest);
            }
        }
    }
}
