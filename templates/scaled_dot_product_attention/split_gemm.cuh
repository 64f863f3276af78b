// split_gemm.cuh: the mainloop of split.cu. D = A * B of floats, as their owner has them, by warpgroup
// products of two parts of fp16, three for one (slab_operands.cuh). A stage is 32 elements of k.
//
//   two loaders      a thread each asks the copy engine for lines of 128 bytes of A's rows, or of B's
//                    columns, AHEAD stages before they are needed. Blocks of a cluster bring B together
//   four converters  warps that split B's columns to parts, as products take them, into a pipeline of STAGES
//   two consumers    warpgroups that split 64 rows of A each on the way to registers, and multiply them
//
// Nothing that a thread waits for is a copy of its own: the fence between what converters store and
// products waits for stores to shared memory alone.
//
// A lane reads four elements of k side by side, where products want two and two more eight further
// on. So the elements of a step are multiplied in another order (kOrder), of rows and columns alike.
// Rows of a warp are in another order, too (row_of): lanes that read together share no banks.
//
// Sums of 128 elements of k move to others (gemm_tiles.cuh). A tile's sums leave while the next tile's products go on.
//
// A Work has, beside what gemm_tiles.cuh asks of it,
//
//   kAcross                 whether B's lines in memory are of columns, and follow each other along k; else columns do
//   stages(tile)            of a tile
//   group_b(group)          B's of a group
//   Operands                maps: of A (box_of_lines), behind it of B (that, or box_across); and what else it needs
//   Rows(operands, tile, row)  what A's rows `row` and `row` + 8 need: factor(x, half, k) gives an element as it is
//                           multiplied
//   power(operands, group)  that B's elements are multiplied by
//   leave(sums, operands, rows, tile, row, y)  the epilogue, of such rows
#pragma once
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "multicast.cuh"
#include "wgmma_shared.cuh"

#ifndef AUTOTUNE_EMULATOR
#define WGMMA_SUMS_88 WGMMA_SUMS_80, WGMMA_SUMS_4(80), WGMMA_SUMS_4(84)
#define WGMMA_NAMES_88 WGMMA_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
WGMMA(wgmma_fp16, f16, ", 0", 176, 16, 88, WGMMA_NAMES_88, "%88", "%89", "%90", "%91", "%92", "%93")
#endif

namespace {

constexpr int kConsumerWarps = 8, kConverterWarps = 4, kConverter = 32 * kConsumerWarps, kLoader = kConverter + 32 * kConverterWarps;
// Together no more than a block of 512 threads begins with: a warpgroup that asks for more waits for ever.
constexpr int kConsumerRegisters = 216, kConverterRegisters = 56, kLoaderRegisters = 24;
static_assert(THREADS == kLoader + 128 && 2 * kConsumerRegisters + kConverterRegisters + kLoaderRegisters <= 4 * 128, "more registers than a block has");

constexpr int kStageDepth = DEPTH * kStepDepth, kLineBytes = kStageDepth * 4;
constexpr int kRowBytes = TILE_M * kLineBytes, kColumnBytes = COLUMNS * kLineBytes;            // of a stage, as they come
constexpr int kSlabBytes = COLUMNS * 16, kPlaneBytes = kSlabs * kSlabBytes, kStageBytes = DEPTH * kPlaneBytes;  // in parts
constexpr int kColumnsOfBlock = COLUMNS / CLUSTER, kLinesOfBlock = kStageDepth / CLUSTER;     // that it loads for the cluster
static_assert(DEPTH == 2 && TILE_M == 16 * kConsumerWarps && kColumnsOfBlock % 8 == 0, "a line is 128 bytes, and eight of them are swizzled");
static_assert(AHEAD * (kRowBytes + kColumnBytes + 32) + STAGES * (kStageBytes + 16) == SHARED_BYTES, "op.yaml and the kernel differ");

// kOrder: the element of k in the i-th place of a step.
__device__ __forceinline__ constexpr int kOrder(int i) { return i % 8 / 2 * 4 + i / 8 * 2 + i % 2; }

// row_of is which of eight rows a lane has in the first of them.
__device__ __forceinline__ int row_of() { return threadIdx.x % 32 / 8 + threadIdx.x / 4 % 2 * 4; }

// split is split_fp16x2 of what is not bounded: where an element has no fp16, sums are not finite.
__device__ __forceinline__ void split(float a, float b, unsigned& high, unsigned& low) {
    high = pack_fp16x2(a, b);
    low = pack_fp16x2(a - fp16_low(high), b - fp16_high(high));
}

// ---- Matrices as the copy engine has them, of Length elements a line, a group of Lines each.

template <int Length>
__device__ __forceinline__ TensorBox<3, float, BoxForm::exact> box_of_lines(const float* first, int apart, int lines, int groups, int box) {
    return {first, {Length, static_cast<unsigned>(lines), static_cast<unsigned>(groups)}, {1, apart, static_cast<long long>(apart) * lines},
            {kStageDepth, static_cast<unsigned>(box), 1}};
}
// across: a line has an element of k of all columns.
template <int Length>
__device__ __forceinline__ TensorBox<3, float, BoxForm::plain> box_across(const float* first, int lines, int groups) {
    return {first, {Length, static_cast<unsigned>(lines), static_cast<unsigned>(groups)}, {1, Length, static_cast<long long>(Length) * lines},
            {COLUMNS, kLinesOfBlock, 1}};
}

// ---- Shared memory: rows, columns and columns in parts, a ring of stages each.

// Stage is a place of a ring, of Places.
template <int Places>
struct Stage {
    int place = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++place == Places) place = 0, parity ^= 1;
    }
};

// Ring has two barriers a place: it is full, and it is empty.
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
    // Those are called by all lanes of a warp, when it has filled a place, or read it.
    __device__ __forceinline__ void give(At at) const {
        publish_to_async_proxy();
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(full(at));
    }
    __device__ __forceinline__ void release(At at) const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(at));
    }
    // release_everywhere tells all blocks of the cluster.
    __device__ __forceinline__ void release_everywhere(At at) const {
        if (CLUSTER == 1) return release(at);
        __syncwarp();
        if (threadIdx.x % 32 < CLUSTER) mbarrier_arrive_at(empty(at), threadIdx.x % 32);
    }
};

struct Shared {
    char* memory;
    __device__ __forceinline__ Mbarrier* barriers() const { return reinterpret_cast<Mbarrier*>(memory + AHEAD * (kRowBytes + kColumnBytes) + STAGES * kStageBytes); }
    __device__ __forceinline__ Ring<AHEAD> rows() const { return {memory, barriers(), kRowBytes}; }
    __device__ __forceinline__ Ring<AHEAD> columns() const { return {memory + AHEAD * kRowBytes, barriers() + 2 * AHEAD, kColumnBytes}; }
    __device__ __forceinline__ Ring<STAGES> parts() const { return {memory + AHEAD * (kRowBytes + kColumnBytes), barriers() + 4 * AHEAD, kStageBytes}; }
    __device__ __forceinline__ void initialise() const {
        rows().initialise(1, kConsumerWarps);
        columns().initialise(1, CLUSTER * kConverterWarps);
        parts().initialise(kConverterWarps, kConsumerWarps);
        publish_to_async_proxy();
    }
};

// ---- The loaders.

template <class Work>
__device__ __forceinline__ void load_rows(const Ring<AHEAD>& ring, const TensorMap* map) {
    use_tensor_map(map);
    typename Ring<AHEAD>::At at;
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        for (int s = 0, end = Work::stages(tile); s < end; ++s, at.next()) {
            ring.wait_empty(at);
            mbarrier_expect(ring.full(at), kRowBytes);
            const int from[3] = {s * kStageDepth, tile.m * TILE_M, tile.group};
            tensor_load(ring.stage(at), map, from, ring.full(at));
        }
    }
}

template <class Work>
__device__ __forceinline__ void load_columns(const Ring<AHEAD>& ring, const TensorMap* map) {
    use_tensor_map(map);
    const int rank = rank_in_cluster();
    typename Ring<AHEAD>::At at;
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        const int column = tile.n * TILE_N, group = Work::group_b(tile.group);
        for (int s = 0, end = Work::stages(tile), k = 0; s < end; ++s, k += kStageDepth, at.next()) {
            ring.wait_empty(at);
            mbarrier_expect(ring.full(at), kColumnBytes);
            const int from[3] = {Work::kAcross ? column : k, Work::kAcross ? k + rank * kLinesOfBlock : column + rank * kColumnsOfBlock, group};
            char* const to = ring.stage(at) + rank * (kColumnBytes / CLUSTER);
            if (CLUSTER > 1)
                tensor_load_multicast(to, map, from, ring.full(at));
            else
                tensor_load(to, map, from, ring.full(at));
        }
    }
}

// ---- The converters.

// read_step gives a step of a column, as a column's line or as the step's lines have it.
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

__device__ __forceinline__ void store_parts(char* stage, int step, int column, const float (&v)[kStepDepth], float power) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        unsigned high[4], low[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int k = kOrder(8 * half + 2 * i);
            split(v[k] * power, v[k + 1] * power, high[i], low[i]);
        }
        char* const to = stage + step * kPlaneBytes + half * kSlabBytes + column * 16;
        *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
        *reinterpret_cast<uint4*>(to + 2 * kSlabBytes) = make_uint4(low[0], low[1], low[2], low[3]);
    }
}

template <class Work>
__device__ __forceinline__ void convert(const Shared& shared, const typename Work::Operands& of) {
    constexpr int pieces = (COLUMNS + 31) / 32 * DEPTH;  // of 32 columns and a step
    const int warp = threadIdx.x / 32 - kConsumerWarps;
    const Ring<AHEAD> columns = shared.columns();
    const Ring<STAGES> parts = shared.parts();
    Ring<AHEAD>::At from;
    Ring<STAGES>::At to;
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        const float power = Work::power(of, tile.group);
        for (int s = 0, end = Work::stages(tile); s < end; ++s, from.next(), to.next()) {
            columns.wait_full(from);
            parts.wait_empty(to);
#pragma unroll
            for (int piece = 0; piece < pieces; piece += kConverterWarps) {
                const int step = warp % DEPTH, column = (piece + warp) / DEPTH * 32 + threadIdx.x % 32;
                if (COLUMNS % 64 != 0 && column >= COLUMNS) break;
                float v[kStepDepth];
                read_step<Work::kAcross>(columns.stage(from), step, column, v);
                store_parts(parts.stage(to), step, column, v, power);
            }
            columns.release_everywhere(from);
            parts.give(to);
        }
    }
}

// ---- The consumers.

// split_rows gives a step's fragment of a warp's rows, in parts.
template <class Rows>
__device__ __forceinline__ void split_rows(const char* lines, const Rows& rows, int step, int k, unsigned (&high)[4], unsigned (&low)[4]) {
    const int piece = step * 4 + static_cast<int>(threadIdx.x) % 4;
    k += piece * 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const float4 four = *reinterpret_cast<const float4*>(lines + half * 8 * kLineBytes + (piece ^ row_of()) * 16);
        split(rows.factor(four.x, half, k), rows.factor(four.y, half, k + 1), high[half], low[half]);
        split(rows.factor(four.z, half, k + 2), rows.factor(four.w, half, k + 3), high[half + 2], low[half + 2]);
    }
}

template <class Work>
__device__ __forceinline__ void consume(const Shared& shared, const typename Work::Operands& of, float* y) {
    typedef typename Work::Rows Rows;
    const int warp = threadIdx.x / 32, mine = warp * 16 + row_of(), late = warp / 4 * (kChunk / 2);  // consumers move sums in turn
    const int blocks = gridDim.x;
    const Ring<AHEAD> lines = shared.rows();
    const Ring<STAGES> parts = shared.parts();
    Ring<AHEAD>::At from;
    Ring<STAGES>::At at, before;
    Sums sums = {}, some = {};
    int index = blockIdx.x;
    Tile tile = Tiles<Work>::at(index);
    Rows rows(of, tile, tile.m * TILE_M + mine);
    // leave is of the tile before the index-th; it looks for all that it needs again, since registers are few.
    const auto leave = [&](int index) {
        const Tile done = Tiles<Work>::at(index - blocks);
        Work::leave(sums, of, Rows(of, done, done.m * TILE_M + mine), done, mine, y);
    };
    for (; index < Tiles<Work>::all(); index += blocks) {
        const int end = Work::stages(tile);
        Tile next = tile;
        Rows next_rows = rows;
        for (int s = 0; s < end; ++s, from.next(), before = at, at.next()) {
            const bool begins = s == 0 || (s + late) % kChunk == 0, ends = s + 1 == end || (s + 1 + late) % kChunk == 0;
            unsigned high[DEPTH][4], low[DEPTH][4];
            lines.wait_full(from);
#pragma unroll
            for (int step = 0; step < DEPTH; ++step) {
                split_rows(lines.stage(from) + mine * kLineBytes, rows, step, s * kStageDepth, high[step], low[step]);
                if (step == 0) parts.wait_full(at);
                if (step + 1 == DEPTH) lines.release(from);
                const Slabs columns = {parts.stage(at) + step * kPlaneBytes, kSlabBytes}, rest = columns.moved(2 * kSlabBytes);
                wgmma_fence();
                wgmma_fp16<COLUMNS>(some, low[step], columns, step > 0 || !begins);  // the smallest first
                wgmma_fp16<COLUMNS>(some, high[step], rest, true);
                wgmma_fp16<COLUMNS>(some, high[step], columns, true);
                wgmma_commit();
                wgmma_wait_groups<1>();  // the registers of the step before may change
                if (step == 0 && !begins) parts.release(before);
            }
            if (s == 0 && index >= blocks) {
                leave(index);
#pragma unroll
                for (float& sum : sums) sum = 0.0f;
            }
            if (s + 1 == end && index + blocks < Tiles<Work>::all()) {
                next = Tiles<Work>::at(index + blocks);
                next_rows = Rows(of, next, next.m * TILE_M + mine);
            }
            if (ends) {
                wgmma_wait(some);
                parts.release(at);
#pragma unroll
                for (int i = 0; i < COLUMNS / 2; ++i) sums[i] += some[i];
            }
        }
        tile = next, rows = next_rows;
    }
    leave(index);
}

// split_gemm is the whole kernel.
template <class Work>
__device__ __forceinline__ void split_gemm(char* memory, const typename Work::Operands& of, float* y) {
    const Shared shared = {memory};
    if (threadIdx.x == 0) shared.initialise();
    wait_for_launches();
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
    if (threadIdx.x >= kLoader) {
        fewer_registers<kLoaderRegisters>();
        if (threadIdx.x == kLoader) load_rows<Work>(shared.rows(), of.maps);
        if (threadIdx.x == kLoader + 32) load_columns<Work>(shared.columns(), of.maps + 1);
    } else if (threadIdx.x >= kConverter) {
        fewer_registers<kConverterRegisters>();
        convert<Work>(shared, of);
    } else {
        more_registers<kConsumerRegisters>();
        consume<Work>(shared, of, y);
    }
    if (CLUSTER > 1) meet_cluster();  // others may still bring columns, or tell what they have read
}

}  // namespace
