// depthwise_conv2d, direct: each thread convolves VEC adjacent outputs, row after row.
//
//   global -> registers: a window's elements, one by one: neighbouring windows
//                        overlap, and their elements come from L1; the weights
//                        are the same for the whole block and come from L1 too.
//   registers -> global: VEC outputs, as one vector where rows are aligned for it.
//
// Windows that hang over the input's edge take a path with bounds checks.
//
// Tunables:
//   block_x, block_y: threads per block: how much of the input a block shares in L1.
//   rows:             output rows per thread: more rows save indexing, fewer leave more
//                     blocks to fill the chip.
//   vec:              adjacent outputs per thread: wider stores and windows that share
//                     loads, but the threads of a warp read from addresses further apart.
//   unroll:           rows of a window in flight at once.
#include "convolution_place.cuh"
#include "plane_windows.cuh"

struct Windows {
    const Element* weight; // of the block's channel
    float bias;
    Epilogue epilogue;

    template <bool Inside>
    __device__ __forceinline__ void reduce(float (&sums)[VEC], const Element* plane, long long row, long long column) const {
#pragma unroll
        for (int v = 0; v < VEC; ++v) sums[v] = 0.0f;
        down_windows<Inside>(row, column, [&](int tap_row, long long first) {
            across_windows<Inside>(column, [&](int tap, int v, long long step) {
                sums[v] += to_float(plane[first + step]) * read_only(weight + tap_row * KERNEL_W + tap);
            });
        });
    }

    __device__ __forceinline__ void finish(float (&sums)[VEC], int row, int column) const {
#pragma unroll
        for (int v = 0; v < VEC; ++v) sums[v] += bias;
        if constexpr (!Epilogue::kIsNone)
            epilogue.apply(sums, RowPlace(tile_of_block().plane, C, row, H_OUT, column, W_OUT));
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
depthwise_conv2d_direct(const Element* __restrict__ x, const Element* __restrict__ weight,
                        const Element* __restrict__ bias, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const int channel = (int)(tile_of_block().plane % C);
    const Windows windows = {weight + (long long)channel * KERNEL_H * KERNEL_W, BIAS ? to_float(bias[channel]) : 0.0f,
                             {EPILOGUE_ARGUMENTS}};
    plane_windows(x, y, windows);
}
