// split_gemm.cuh: the mainloop of split.cu. split_gemm computes D = A * B for matrices of floats by wgmma. Each float
// is split into two fp16 values, so that a product takes three wgmmas (slab_operands.cuh). A stage is 32 elements of
// k.
//
// One loader thread loads A and B by TMA, AHEAD stages ahead; the blocks of a cluster load B together. Seven
// converter warps split B into fp16 values, in a second pipeline of STAGES stages. Two consumer warpgroups split 64
// rows of A each on the way to registers, and multiply.
//
// While one consumer prepares its next operand A, the wgmmas of the other consumer run. No wgmma is in flight from
// one loop iteration to the next, since the compiler would then serialise all wgmmas.
//
// A buffer in shared memory is released only after the data that was read from it has been used, since an arrival at
// a barrier does not wait for loads.
//
// A lane reads four contiguous elements of k. The elements of each step of k are therefore permuted (place_of), in
// the same way for A and B. The rows of a warp are permuted, too (row_of), to avoid bank conflicts.
//
// Every kMoves stages, the accumulators are added to other accumulators, with rounding to nearest (gemm_tiles.cuh).
//
// Work needs these members besides those of gemm_tiles.cuh:
//
//   kInParts:               whether A is already split into fp16 values
//   kAcross:                whether B is not contiguous along k
//   stages(tile):           the number of stages of a tile
//   kMoves:                 the number of stages after which accumulators are added to others
//   group_b(group):         which matrix B a group of the batch uses
//   Operands:               tensor maps of A and B, and whatever else Work needs
//   power_a(operands, group), power(operands, group): the powers of two that scale A and B
//   Rows(operands, tile, row): the state of rows `row` and `row` + 8; begin(i) is called before, and
//                           move(sums, some) after the i-th kMoves stages
//   leave(sums, operands, rows, tile, row, y): the epilogue for rows `row` and `row` + 8
#pragma once
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "multicast.cuh"
#include "wgmma.cuh"

namespace {

constexpr int kConsumerWarps = TILE_M / 16, kConverterWarps = THREADS / 32 - kConsumerWarps - 1;
constexpr int kConverter = 32 * kConsumerWarps, kLoader = THREADS - 32;  // the first thread of each
// The registers of all warps together must not exceed those with which a block of 512 threads begins; otherwise
// setmaxnreg waits for ever.
constexpr int kConsumerRegisters = 200, kOtherRegisters = 56;
static_assert(2 * kConsumerRegisters + 2 * kOtherRegisters <= 4 * (65536 / THREADS), "more registers than a block has");

constexpr int kStageDepth = DEPTH * kStepDepth, kLineBytes = kStageDepth * 4;
constexpr int kSlabBytes = COLUMNS * 16, kPlaneBytes = kSlabs * kSlabBytes;  // for columns in parts
constexpr int kPieces = COLUMNS / 32;  // pieces of a stage, which warps split
constexpr int kColumnsOfBlock = COLUMNS / CLUSTER, kLinesOfBlock = kStageDepth / CLUSTER;     // that it loads for the cluster
static_assert(DEPTH == 2 && COLUMNS % 32 == 0 && kColumnsOfBlock % 8 == 0, "a line is 128 bytes, and eight of them are swizzled");

// place_of returns which element of k, of 16, wgmma multiplies in place of element i.
template <class Work>
__device__ __forceinline__ constexpr int place_of(int i) {
    return Work::kInParts ? i : i % 8 / 2 * 4 + i / 8 * 2 + i % 2;
}

// row_of returns which of the first eight rows of its warp a lane reads.
__device__ __forceinline__ int row_of() { return threadIdx.x % 32 / 8 + threadIdx.x / 4 % 2 * 4; }

// split splits two floats into fp16 values without clamping: on overflow, sums become infinite or NaN, which is
// detected later (mended.cuh).
__device__ __forceinline__ void split(float a, float b, unsigned& high, unsigned& low) {
    high = pack_fp16x2(a, b);
    low = pack_fp16x2(a - fp16_low(high), b - fp16_high(high));
}

// ---- Shared memory contains three ring buffers: for A (stages of ROW_BYTES bytes), for B (COLUMN_BYTES), and for B
// as fp16 values (STAGE_BYTES).

// Stage is the index of a slot in a ring buffer of Places slots, and the parity of its mbarriers.
template <int Places>
struct Stage {
    int place = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++place == Places) place = 0, parity ^= 1;
    }
};

// Ring is a ring buffer with a full and an empty mbarrier per slot.
template <int Places>
struct Ring {
    char* memory;
    Mbarrier* barriers;
    int bytes;
    typedef Stage<Places> At;
    __device__ __forceinline__ char* stage(At at) const { return memory + at.place * bytes; }
    __device__ __forceinline__ Mbarrier* full(At at) const { return barriers + at.place; }
    __device__ __forceinline__ Mbarrier* empty(At at) const { return barriers + Places + at.place; }
    __device__ __forceinline__ void initialise(int fill, int read) const {
        for (int i = 0; i < Places; ++i) {
            mbarrier_init(barriers + i, fill);
            mbarrier_init(barriers + Places + i, read);
        }
    }
    __device__ __forceinline__ void wait_full(At at) const { mbarrier_wait(full(at), at.parity); }
    __device__ __forceinline__ void wait_empty(At at) const { mbarrier_wait(empty(at), at.parity ^ 1); }
    // All lanes of a warp must call give (the slot is full) and release (the slot is empty).
    __device__ __forceinline__ void give(At at) const {
        publish_to_async_proxy();
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(full(at));
    }
    __device__ __forceinline__ void release(At at) const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(at));
    }
    __device__ __forceinline__ void release_everywhere(At at) const {
        if (CLUSTER == 1) return release(at);
        __syncwarp();
        if (threadIdx.x % 32 < CLUSTER) mbarrier_arrive_at(empty(at), threadIdx.x % 32);
    }
};

struct Shared {
    char* memory;
    __device__ __forceinline__ Mbarrier* barriers() const { return reinterpret_cast<Mbarrier*>(memory + AHEAD * (ROW_BYTES + COLUMN_BYTES) + STAGES * STAGE_BYTES); }
    __device__ __forceinline__ Ring<AHEAD> rows() const { return {memory, barriers(), ROW_BYTES}; }
    __device__ __forceinline__ Ring<AHEAD> columns() const { return {memory + AHEAD * ROW_BYTES, barriers() + 2 * AHEAD, COLUMN_BYTES}; }
    __device__ __forceinline__ Ring<STAGES> parts() const { return {memory + AHEAD * (ROW_BYTES + COLUMN_BYTES), barriers() + 4 * AHEAD, STAGE_BYTES}; }
    __device__ __forceinline__ void initialise() const {
        rows().initialise(1, kConsumerWarps);
        columns().initialise(1, CLUSTER * kConverterWarps);
        parts().initialise(kConverterWarps, kConsumerWarps);
        publish_to_async_proxy();
    }
};

// ---- The loader loads all tiles of a block by TMA.

template <class Work>
__device__ __forceinline__ void load(const Shared& shared, const MappedOperands& maps) {
    maps.prefetch();
    const Ring<AHEAD> rows = shared.rows(), columns = shared.columns();
    const int rank = rank_in_cluster();
    Ring<AHEAD>::At at;
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        const int row = tile.m * TILE_M, column = tile.n * TILE_N, group = Work::group_b(tile.group);
        for (int s = 0, end = Work::stages(tile), k = 0; s < end; ++s, k += kStageDepth, at.next()) {
            columns.wait_empty(at);
            mbarrier_expect(columns.full(at), COLUMN_BYTES);
            const int from_b[3] = {Work::kAcross ? column : k, Work::kAcross ? k + rank * kLinesOfBlock : column + rank * kColumnsOfBlock, group};
            char* const to = columns.stage(at) + rank * (COLUMN_BYTES / CLUSTER);
            if (CLUSTER > 1)
                tensor_load_multicast(to, maps.columns, from_b, columns.full(at));
            else
                tensor_load(to, maps.columns, from_b, columns.full(at));
            rows.wait_empty(at);
            mbarrier_expect(rows.full(at), ROW_BYTES);
            const int from_a[3] = {k, row, tile.group};
            tensor_load(rows.stage(at), maps.rows, from_a, rows.full(at));
        }
    }
}

// ---- The converters split B into fp16 values.

// read_step reads 16 elements along k of a column of B.
template <bool Across>
__device__ __forceinline__ void read_step(const char* columns, int step, int column, float (&v)[kStepDepth]) {
    if (Across) {
#pragma unroll
        for (int k = 0; k < kStepDepth; ++k) v[k] = *reinterpret_cast<const float*>(columns + ((step * kStepDepth + k) * COLUMNS + column) * 4);
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float4 four = *reinterpret_cast<const float4*>(columns + column * kLineBytes + ((4 * step + i) ^ column % 8) * 16);
            v[4 * i] = four.x, v[4 * i + 1] = four.y, v[4 * i + 2] = four.z, v[4 * i + 3] = four.w;
        }
    }
}

template <class Work>
__device__ __forceinline__ void store_parts(char* stage, int step, int column, const float (&v)[kStepDepth], float power) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        unsigned high[4], low[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int k = place_of<Work>(8 * half + 2 * i);
            split(v[k] * power, v[k + 1] * power, high[i], low[i]);
        }
        char* const to = stage + step * kPlaneBytes + half * kSlabBytes + column * 16;
        *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
        *reinterpret_cast<uint4*>(to + 2 * kSlabBytes) = make_uint4(low[0], low[1], low[2], low[3]);
    }
}

template <class Work>
__device__ __forceinline__ void convert(const Shared& shared, const typename Work::Operands& of) {
    const Ring<AHEAD> columns = shared.columns();
    const Ring<STAGES> parts = shared.parts();
    Ring<AHEAD>::At from;
    Ring<STAGES>::At to;
    int piece = threadIdx.x / 32 - kConsumerWarps;  // the warp's next piece, counted from the current stage
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        const float power = Work::power(of, tile.group);
        for (int s = 0, end = Work::stages(tile); s < end; ++s, from.next(), to.next(), piece -= kPieces) {
            columns.wait_full(from);
            parts.wait_empty(to);
            for (; piece < kPieces; piece += kConverterWarps) {
                const int column = piece * 32 + threadIdx.x % 32;
#pragma unroll
                for (int step = 0; step < DEPTH; ++step) {
                    float v[kStepDepth];
                    read_step<Work::kAcross>(columns.stage(from), step, column, v);
                    store_parts<Work>(parts.stage(to), step, column, v, power);
                }
            }
            // Warps without work arrive at the mbarrier, too: it distinguishes only two phases, so no warp may fall
            // behind.
            columns.release_everywhere(from);
            parts.give(to);
        }
    }
}

// ---- The consumers multiply.

// Fragment holds a lane's elements of A for one stage, split into two fp16 values each.
struct Fragment {
    unsigned high[DEPTH][4], low[DEPTH][4];
};

// Lines reads the rows of A into registers, stage after stage, and splits them into fp16 values.
template <class Work>
struct Lines {
    const typename Work::Operands& of;
    Ring<AHEAD> ring;
    Ring<AHEAD>::At at;
    int index, stage, end;
    float power;
    float4 came[DEPTH][2];

    __device__ __forceinline__ Lines(const typename Work::Operands& of, const Ring<AHEAD>& ring) : of(of), ring(ring), index(blockIdx.x) { begin(); }
    __device__ __forceinline__ void begin() {
        const Tile tile = Tiles<Work>::at(index);
        stage = 0, end = Work::stages(tile);
        if (!Work::kInParts) power = Work::power_a(of, tile.group);
    }
    // bring reads the rows of the next stage, if there is one.
    __device__ __forceinline__ void bring() {
        if (index >= Tiles<Work>::all()) return;
        ring.wait_full(at);
        const char* const line = ring.stage(at) + (threadIdx.x / 32 * 16 + row_of()) * kLineBytes;
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            const int piece = (step * 4 + static_cast<int>(threadIdx.x) % 4) ^ row_of();
#pragma unroll
            for (int half = 0; half < 2; ++half) came[step][half] = *reinterpret_cast<const float4*>(line + half * 8 * kLineBytes + piece * 16);
        }
        at.next();
    }
    // give splits the elements that `bring` has read.
    __device__ __forceinline__ void give(Fragment& to) const {
#pragma unroll
        for (int step = 0; step < DEPTH; ++step)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float4 four = came[step][half];
                unsigned *const high = to.high[step] + half, *const low = to.low[step] + half;
                if (Work::kInParts) {
                    high[0] = __float_as_uint(four.x), high[2] = __float_as_uint(four.y);
                    low[0] = __float_as_uint(four.z), low[2] = __float_as_uint(four.w);
                } else {
                    split(four.x * power, four.y * power, high[0], low[0]);
                    split(four.z * power, four.w * power, high[2], low[2]);
                }
            }
    }
    __device__ __forceinline__ void next() {
        if (++stage < end) return;
        index += gridDim.x;
        if (index < Tiles<Work>::all()) begin();
    }
};

__device__ __forceinline__ void multiply(Sums& some, const Fragment& rows, const char* stage, bool add) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < DEPTH; ++step) {
        const Slabs columns = {stage + step * kPlaneBytes, kSlabBytes}, rest = columns.moved(2 * kSlabBytes);
        wgmma<wgmma_of_fp16, COLUMNS>(some, rows.low[step], columns, step > 0 || add);  // the smallest first
        wgmma<wgmma_of_fp16, COLUMNS>(some, rows.high[step], rest, true);
        wgmma<wgmma_of_fp16, COLUMNS>(some, rows.high[step], columns, true);
    }
    wgmma_commit();
}

template <class Work>
__device__ __forceinline__ void consume(const Shared& shared, const typename Work::Operands& of, float* y) {
    const int warp = threadIdx.x / 32, mine = warp * 16 + row_of();
    const int late = Work::kInParts ? 0 : warp / 4 * (Work::kMoves / 2);  // consumers move sums at different times
    const Ring<AHEAD> ring = shared.rows();
    const Ring<STAGES> parts = shared.parts();
    Ring<AHEAD>::At from;
    Ring<STAGES>::At at;
    Sums sums = {}, some = {};
    Fragment fragment;
    Lines<Work> lines(of, ring);
    lines.bring();
    lines.give(fragment);
    lines.next();
    lines.bring();
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        typename Work::Rows rows(of, tile, tile.m * TILE_M + mine);
        for (int s = 0, end = Work::stages(tile); s < end; ++s, at.next(), from.next()) {
            const bool begins = s == 0 || (s + late) % Work::kMoves == 0, ends = s + 1 == end || (s + 1 + late) % Work::kMoves == 0;
            if (begins) rows.begin(s / Work::kMoves);
            parts.wait_full(at);
            multiply(some, fragment, parts.stage(at), !begins);
            wgmma_wait(some);
            parts.release(at);
            ring.release(from);  // products have used the fragment
            lines.give(fragment);
            lines.next();
            lines.bring();
            if (ends) rows.move(sums, some);
        }
        Work::leave(sums, of, rows, tile, mine, y);
#pragma unroll
        for (float& sum : sums) sum = 0.0f;
    }
}

template <class Work>
__device__ __forceinline__ void split_gemm(char* memory, const typename Work::Operands& of, float* y) {
    const Shared shared = {memory};
    if (threadIdx.x == 0) shared.initialise();
    wait_for_launches();
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
    if (threadIdx.x < kConverter) {
        more_registers<kConsumerRegisters>();
        consume<Work>(shared, of, y);
    } else {
        fewer_registers<kOtherRegisters>();
        if (threadIdx.x < kLoader)
            convert<Work>(shared, of);
        else if (threadIdx.x == kLoader)
            load<Work>(shared, of.maps);
    }
    if (CLUSTER > 1) meet_cluster();  // others may still bring columns, or tell what they have read
}

}  // namespace
