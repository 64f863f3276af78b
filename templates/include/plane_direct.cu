// plane_direct.cu: pools of planes: each thread reduces VEC adjacent windows, row after row.
//
//   global -> registers: a window's elements, one by one: neighbouring windows
//                        overlap, and their elements come from L1.
//   registers -> global: VEC outputs, as one vector where rows are aligned for it.
//
// Each row of a window is reduced separately, which keeps large sums accurate. Each operator's own pool.cuh defines the
// reduction, and the final step from a reduced window to an output. Windows that hang over the input's edge take a path
// with bounds checks.
//
// Tunables:
//   block_x, block_y: threads per block: how much of the input a block shares in L1.
//   rows:             output rows per thread: more rows save indexing, fewer leave more
//                     blocks to fill the chip.
//   vec:              adjacent outputs per thread: wider stores and windows that share
//                     loads, but the threads of a warp read from addresses further apart.
//   unroll:           rows of a window in flight at once.
#include "plane_windows.cuh"
#include "pool.cuh"

struct Windows {
    Epilogue epilogue;

    template <bool Inside>
    __device__ __forceinline__ void reduce(float (&windows)[VEC], const Element* plane, long long row, long long column) const {
#pragma unroll
        for (int v = 0; v < VEC; ++v) windows[v] = Pool::nothing();
        down_windows<Inside>(row, column, [&](int, long long first) {
            float line[VEC];
#pragma unroll
            for (int v = 0; v < VEC; ++v) line[v] = Pool::nothing();
            across_windows<Inside>(column, [&](int, int v, long long step) { line[v] = Pool::join(line[v], to_float(plane[first + step])); });
#pragma unroll
            for (int v = 0; v < VEC; ++v) windows[v] = Pool::join(windows[v], line[v]);
        });
    }

    __device__ __forceinline__ void finish(float (&windows)[VEC], int row, int column) const {
        finish_row<Pool>(windows, epilogue, tile_of_block().plane, 0, row, column);
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
plane_direct(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    plane_windows(x, y, Windows{{EPILOGUE_ARGUMENTS}});
}
