// plane_direct.cu: 2-D pooling: each thread reduces the windows of VEC adjacent outputs, row after row.
//
// Each row of a window is reduced separately, which keeps large sums accurate. Windows that reach over the input's
// edge take a path with bounds checks. Each operator's pool.cuh defines the reduction (maximum or average).
//
// Tunables:
//   block_x, block_y: threads per block
//   rows:             output rows per thread
//   vec:              adjacent outputs per thread
//   unroll:           rows of a window in flight at once
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
