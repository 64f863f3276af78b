// volume_pool.cuh: 3-D pooling in which each thread goes through the input slices one by one.
//
// A block of BLOCK_X x BLOCK_Y threads computes BLOCK_Y * ROWS rows and BLOCK_X * VEC columns of SLICES output
// slices; a thread reduces ROWS x VEC windows of each. A thread reduces an input slice's rows, then its columns, and
// adds the result to all windows that contain the slice. Unfinished windows stay in registers, so that no slice is
// read twice.
//
// Other macros: a thread reads SPAN input columns per row, LEAD of which lie before its first window, and LOAD floats
// at a time. BAND is the number of input rows that ROWS output rows read. GATHERED is the number of floats of the
// buffer that collects a block's outputs of a slice.
//
//   pool_volume<Slices, Pool>(x, y, shared, epilogue)    Pool is defined in pool.cuh
//
// Slices is CachedSlices below, or a class of staged_slices.cuh:
//
//   Slices slices(x, shared, block, fresh)    fresh: the range of input slices that the block reads
//   const float* slice = slices.next()        for each of these slices
#pragma once
#include "element_rows.cuh"
#include "guarded_span.cuh"
#include "pooling.cuh"
#include "volume.cuh"

constexpr int Threads = BLOCK_X * BLOCK_Y, BlockRows = BLOCK_Y * ROWS, BlockColumns = BLOCK_X * VEC;

__device__ __forceinline__ int thread_of_block() { return threadIdx.y * BLOCK_X + threadIdx.x; }

// FreshSlices is the range of input slices that a block reads.
struct FreshSlices {
    int first, needed, end; // needed: the first that the block's windows contain

    __device__ __forceinline__ FreshSlices(const Block& block, int steps)
        : first((block.slice - Unfinished) * STRIDE_D - PADDING_D + HaloSlices),
          needed(max(block.slice * STRIDE_D - PADDING_D, 0)), end(first + (Unfinished + steps) * STRIDE_D) {}

    __device__ __forceinline__ bool is_read(int slice) const {
        return slice >= needed && slice < min(end, (int)D) && slice_is_used((slice - first) % STRIDE_D);
    }
};

// CachedSlices reads slices directly from global memory, through the L1.
struct CachedSlices {
    static constexpr bool Cached = true;
    const Element* volume;
    int slice;

    __device__ __forceinline__ CachedSlices(const Element* x, float*, const Block& block, const FreshSlices& fresh)
        : volume(x + block.volume * ((long long)D * H * W)), slice(fresh.first) {}

    __device__ __forceinline__ const Element* next() { return volume + (long long)H * W * slice++; }
};

typedef float Windows[ROWS][VEC];

// join_slice adds the i-th input slice to all of a thread's windows that contain it; the first window begins at row
// `top` and column `left` + LEAD.
template <class Reduction, bool Cached, class T>
__device__ __forceinline__ void join_slice(Windows (&kept)[Unfinished + 1], const T* slice, int top, int left,
                                           int i) {
    const T* from = slice + (long long)top * W + left;
    Windows within; // the windows' part of this slice
#pragma unroll
    for (int j = 0; j < BAND; ++j) {
        if (!row_is_used<ROWS>(j)) continue;
        float span[SPAN];
        load_guarded_span<Cached>(span, from, j * W, left, row_inside(top + j), Reduction::nothing());
        join_span<Reduction>(within, span + LEAD, j, [&](int r) {
#pragma unroll
            for (int s = 0; s <= Unfinished; ++s) {
                const int tap = tap_slice(i, s);
                if (tap < 0) continue;
#pragma unroll
                for (int v = 0; v < VEC; ++v)
                    kept[s][r][v] = tap == 0 ? within[r][v] : Reduction::join(kept[s][r][v], within[r][v]);
            }
        });
    }
}

// begin_empty initialises the windows whose first slice lies outside of the input.
template <class Reduction>
__device__ __forceinline__ void begin_empty(Windows (&kept)[Unfinished + 1], int i) {
#pragma unroll
    for (int s = 0; s <= Unfinished; ++s)
        if (tap_slice(i, s) == 0)
#pragma unroll
            for (int e = 0; e < ROWS * VEC; ++e) kept[s][e / VEC][e % VEC] = Reduction::nothing();
}

// store_slice stores a thread's outputs of a slice, directly or through a buffer in shared memory.
__device__ __forceinline__ void store_slice(Element* y, float* buffer, const Block& block, long long first,
                                            const Windows& outputs) {
    const int row = threadIdx.y * ROWS, column = block.column + threadIdx.x * VEC;
    const int rows = min((int)BlockRows, H_OUT - block.row);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (row + r >= rows) continue;
        if (GATHER)
            gather<VEC>(buffer + gather_skew(first) + (row + r) * W_OUT, column, outputs[r]);
        else
            store_elements_of_row<VEC, STREAMING>(y + first + (long long)(row + r) * W_OUT, column, outputs[r]);
    }
    if (!GATHER) return;
    __syncthreads();
    store_gathered<Threads, STREAMING>(floats_of(y), first, buffer, rows * W_OUT, thread_of_block());
}

template <class Slices, class Pool>
__device__ __forceinline__ void pool_volume(const Element* x, Element* y, float* shared,
                                            const Epilogue& epilogue) {
    const Block block = block_of<SLICES, BlockRows, BlockColumns>(blockIdx.x);
    const int row = block.row + threadIdx.y * ROWS, column = block.column + threadIdx.x * VEC;
    const int steps = min((int)SLICES, D_OUT - block.slice);
    const FreshSlices fresh(block, steps);
    Slices slices(x, shared + GATHER * 2 * GATHERED, block, fresh);

    Windows kept[Unfinished + 1];
#pragma unroll
    for (int e = 0; e < (Unfinished + 1) * ROWS * VEC; ++e)
        kept[e / VEC / ROWS][e / VEC % ROWS][e % VEC] = Pool::nothing();
    int at = fresh.first;
    for (int step = -Unfinished; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < STRIDE_D; ++i, ++at) {
            const auto slice = slices.next();
            if (!slice_is_used(i)) continue;
            if (at >= fresh.needed && at < D)
                join_slice<Pool, Slices::Cached>(kept, slice, row * STRIDE_H - PADDING_H,
                                                 column * STRIDE_W - PADDING_W - LEAD, i);
            else
                begin_empty<Pool>(kept, i);
        }
        if (step >= 0) {
            const int its_slice = block.slice + step;
            Windows outputs;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
#pragma unroll
                for (int v = 0; v < VEC; ++v) outputs[r][v] = kept[0][r][v];
                finish_row<Pool>(outputs[r], epilogue, block.volume, its_slice, row + r, column);
            }
            const long long first = ((block.volume * D_OUT + its_slice) * H_OUT + block.row) * W_OUT;
            store_slice(y, shared + step % 2 * GATHERED, block, first, outputs); // one barrier is enough for two buffers
        }
#pragma unroll
        for (int s = 0; s < Unfinished; ++s)
#pragma unroll
            for (int e = 0; e < ROWS * VEC; ++e) kept[s][e / VEC][e % VEC] = kept[s + 1][e / VEC][e % VEC];
    }
}
