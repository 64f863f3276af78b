// depthwise_conv2d, direct: each thread computes VEC adjacent outputs, row after row.
//
// Windows that reach over the input's edge take a path with bounds checks.
//
// Tunables:
//   block_x, block_y: threads per block
//   rows:             output rows per thread
//   vec:              adjacent outputs per thread
//   unroll:           rows of a window in flight at once
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
