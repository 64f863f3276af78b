// row_slide.cu: 1-D pooling: each thread computes a few neighbouring outputs of the flat output tensor.
//
// Stores are 16 bytes wide and aligned, whatever the length of rows. Loads are aligned vectors, too, although a
// window may begin anywhere between two vectors. The code is compiled for each of the four possible distances from an
// aligned vector to the first window (Phase), so that every register index is known at compile time. Vectors that no
// window reads because of dilation are not loaded.
//
// Each operator's pool.cuh defines the reduction (maximum or average).
//
// Windows that reach over the end of their row or into padding are reduced one by one.
//
// TILE is the number of a block's outputs, and TILE_SPAN the number of inputs that these outputs read.
//
// Tunables:
//   threads:   threads per block
//   vec:       neighbouring outputs per thread
//   chunks:    groups of VEC outputs per thread, which are THREADS * VEC outputs apart
//   stage:     whether the block first copies its inputs to shared memory
//   streaming: whether stores are streaming, so that the inputs stay in the L2
#include "async_copy.cuh"
#include "pool.cuh"

// one_window reduces the window of one output, clipped to the row.
__device__ __forceinline__ float one_window(const float* row, int column) {
    const int begin = column * STRIDE_W - PADDING_W;
    float window = Pool::nothing();
    int at = max(begin, 0);
    at += ((begin - at) % DILATION_W + DILATION_W) % DILATION_W; // the window's first element in the row
    for (; at < min(begin + SPAN_W, W); at += DILATION_W) window = Pool::join(window, row[at]);
    return window;
}

// windows computes Runs groups of VEC adjacent outputs; the first window begins Phase floats after the 16-byte
// aligned pointer `from`.
template <int Phase, int Runs>
__device__ __forceinline__ void windows(float* to, const float* from, const Epilogue& epilogue, long long row,
                                        int column) {
    constexpr int Loaded = (Phase + SPAN + 3) / 4 * 4;
    float inputs[Runs][Loaded];
#pragma unroll
    for (int run = 0; run < Runs; ++run)
#pragma unroll
        for (int j = 0; j < Loaded; j += 4) load_vector<4>(inputs[run] + j, from + run * (THREADS * VEC * STRIDE_W) + j);
#pragma unroll
    for (int run = 0; run < Runs; ++run) {
        float outputs[VEC];
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
            float window = inputs[run][Phase + v * STRIDE_W];
#pragma unroll
            for (int k = 1; k < KERNEL_W; ++k)
                window = Pool::join(window, inputs[run][Phase + v * STRIDE_W + k * DILATION_W]);
            outputs[v] = Pool::finish(window, 0, 0, column + run * (THREADS * VEC) + v);
        }
        if constexpr (!Epilogue::kIsNone)
            epilogue.apply(outputs, RunPlace(row, C, 0, 1, column + run * (THREADS * VEC), W_OUT));
#pragma unroll
        for (int v = 0; v < VEC; v += 4) put<4, STREAMING>(to + run * (THREADS * VEC) + v, outputs + v);
    }
}

template <int Runs>
__device__ __forceinline__ void windows_of_phase(int phase, float* to, const float* from, const Epilogue& epilogue,
                                                 long long row, int column) {
    switch (phase) {
    case 0: windows<0, Runs>(to, from, epilogue, row, column); break;
    case 1: windows<1, Runs>(to, from, epilogue, row, column); break;
    case 2: windows<2, Runs>(to, from, epilogue, row, column); break;
    default: windows<3, Runs>(to, from, epilogue, row, column);
    }
}

// inside tells whether the `count` outputs from `column` on need no bounds checks.
__device__ __forceinline__ bool inside(long long row, int column, int count) {
    constexpr long long ROWS = (long long)N * C;
    const long long end = (long long)(column + count - 1) * STRIDE_W - PADDING_W + SPAN_W;
    return row < ROWS && (long long)column * STRIDE_W >= PADDING_W && column + count <= W_OUT && end <= W &&
           (row * W + end + 3) / 4 * 4 <= ROWS * W;
}

// stage_tile copies the inputs of a block's windows into shared memory, beginning `phase` floats before the first
// window.
__device__ __forceinline__ void stage_tile(float* staged, const float* from, int phase) {
#pragma unroll 4
    for (int k = threadIdx.x * 4; k < phase + TILE_SPAN; k += THREADS * 4)
        async_copy<16>(staged + k, from + k);
    async_copy_wait_all();
    __syncthreads();
}

// edge computes VEC outputs that may lie in several rows, with bounds checks.
__device__ __forceinline__ void edge(float* y, const float* x, const Epilogue& epilogue, long long first) {
    constexpr long long OUTPUTS = (long long)N * C * W_OUT;
    for (long long output = first; output < first + VEC && output < OUTPUTS; ++output) {
        const int column = (int)(output % W_OUT);
        float one[1] = {one_window(x + output / W_OUT * W, column)};
        finish_row<Pool>(one, epilogue, output / W_OUT, 0, 0, column);
        y[output] = one[0];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
row_slide(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float staged[];
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};

    // `first` is the tile's first output, and `begin` is the first input of that output's window.
    const long long first = (long long)blockIdx.x * TILE;
    const long long row = first / W_OUT;
    const int column = (int)(first % W_OUT);
    const long long begin = row * W + (long long)column * STRIDE_W - PADDING_W;
    const int phase = (int)(begin & 3);
    const int mine = threadIdx.x * VEC;

    if (inside(row, column, TILE)) {
        const float* from = x + (begin - phase);
        if (STAGE) {
            stage_tile(staged, from, phase);
            from = staged;
        }
        windows_of_phase<CHUNKS>(phase, y + first + mine, from + mine * STRIDE_W, epilogue, row, column + mine);
        return;
    }
    for (int run = 0; run < CHUNKS; ++run) { // the tile reaches the end of a row
        const int offset = run * (THREADS * VEC) + mine;
        const int my_column = (int)((first + offset) % W_OUT);
        const long long my_row = (first + offset) / W_OUT;
        if (inside(my_row, my_column, VEC)) {
            const long long my_begin = my_row * W + (long long)my_column * STRIDE_W - PADDING_W;
            windows_of_phase<1>((int)(my_begin & 3), y + first + offset, x + (my_begin & ~3LL), epilogue, my_row,
                                my_column);
        } else {
            edge(y, x, epilogue, first + offset);
        }
    }
}
