// channels_pool.cu: max and average pools on channels-last images; a thread computes a few channels of several output
// pixels.
//
// Data flow (an operator's pool.cuh defines the reduction):
//
//   global -> registers: VEC channels of an input pixel per load,
//   registers:           reduction along W, then along H and D,
//   registers -> global: VEC channels of an output pixel as soon as its window is complete.
//
// The tunables:
//   BLOCK_X, BLOCK_Y: threads per block along channels and along output pixels.
//   VEC: channels per thread; more channels make accesses wider, but leave fewer threads.
//   SLICES, ROWS, COLUMNS: output pixels per thread; more pixels share more loads, but need more registers.
//   BLOCKS_PER_SM: minimum number of blocks per SM (__launch_bounds__), which limits registers.
//   STREAMING: whether streaming stores write the outputs, which leaves L2 to the inputs.
#include "channels.cuh"
#include "pool.cuh"

struct Windows : Epilogue {
    float kept[SLICES][ROWS][COLUMNS][VEC];
    float line[COLUMNS][VEC]; // reduction of one row; summing row by row keeps large sums accurate

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
