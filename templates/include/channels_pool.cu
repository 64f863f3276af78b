// channels_pool.cu: pools of channels-last images: each thread slides over the windows of a few channels.
//
// Each operator's own pool.cuh defines the reduction, and the final step from a reduced window to an output.
//
//   global -> registers: VEC channels of a place per load; elements that several threads need come from the caches.
//   registers:           sums or maxima across the columns, then down the rows and slices.
//   registers -> global: VEC channels of an output as soon as its window ends.
//
// Tunables:
//   block_x, block_y:     threads along the channels, and along the outputs.
//   vec:                  channels per thread: wider accesses, fewer threads.
//   slices, rows, columns outputs per thread: more outputs share more loads, at the price of registers.
//   blocks_per_sm:        makes the compiler use few enough registers for that many blocks.
//   streaming:            whether stores are streaming, which leaves the L2 to the inputs.
#include "channels.cuh"
#include "pool.cuh"

struct Windows : Epilogue {
    float kept[SLICES][ROWS][COLUMNS][VEC];
    float line[COLUMNS][VEC]; // one row's part: rows are reduced separately, which keeps large sums accurate

    static __device__ __forceinline__ float outside() { return Pool::nothing(); }

    __device__ __forceinline__ void join_line(int s, int r, int tap_d, int tap_h) {
        if (tap_d < 0 || tap_h < 0) return;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
            for (int e = 0; e < VEC; ++e) kept[s][r][c][e] = tap_d + tap_h == 0 ? line[c][e] : Pool::join(kept[s][r][c][e], line[c][e]);
    }

    __device__ __forceinline__ void join_row(const float (&span)[SpanColumns][VEC], int slice, int row) {
#pragma unroll
        for (int k = 0; k < KERNEL_W; ++k)
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
                for (int e = 0; e < VEC; ++e) {
                    const float value = span[c * STRIDE_W + k * DILATION_W][e];
                    line[c][e] = k == 0 ? value : Pool::join(line[c][e], value);
                }
#pragma unroll
        for (int o = 0; o < SLICES * ROWS; ++o) join_line(o / ROWS, o % ROWS, slice_tap(slice, o / ROWS), row_tap(row, o % ROWS));
    }

    __device__ __forceinline__ void join_tap(const float (&values)[VEC], int d, int h, int w) {
#pragma unroll
        for (int e = 0; e < VEC; ++e) line[0][e] = w == 0 ? values[e] : Pool::join(line[0][e], values[e]);
        if (w == KERNEL_W - 1) join_line(0, 0, d, h);
    }

    __device__ __forceinline__ void output(float (&outputs)[VEC], const Group& group, int s, int r, int c) const {
#pragma unroll
        for (int e = 0; e < VEC; ++e) outputs[e] = Pool::finish(kept[s][r][c][e], group.slice + s, group.row + r, group.column + c);
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, BLOCKS_PER_SM)
channels_pool(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    Windows windows;
    if constexpr (!Epilogue::kIsNone) static_cast<Epilogue&>(windows) = {EPILOGUE_ARGUMENTS};
    slide(x, y, windows);
}
