// split_gemm.cuh: the mainloop of gathered.cu. D = A * B of floats, as their owner has them, by
// warpgroup products of two parts of fp16, three for one (slab_operands.cuh).
//
// Copies under way lie in shared memory, and in no registers. Each warp has a ring of AHEAD stages that it
// alone fills by asynchronous copies, in boxes of eight lines of 128 bytes, and reads: it waits for nobody. A stage is
// 32 elements of k.
//
//   producer warps   split B's columns to parts, as products take them, into a pipeline of STAGES
//   two consumers    split 64 rows of A each on the way to registers, and multiply them by the columns
//
// Sums of 128 elements of k move to others (gemm_tiles.cuh). A tile's sums leave while the next tile's products go on.
//
// A Work has, beside what gemm_tiles.cuh asks of it,
//
//   kTerms                  elements of k
//   kAcross                 whether B's lines in memory are of columns, and follow each other along k; else columns do
//   columns()               of a product
//   Operands                rows(group), columns(group)  where A and B begin
//   Rows(operands, tile, row)  what A's 16 rows from `row` on need: factor(x, half, k) gives an element of row
//                           lane / 4 + 8 * half as it is multiplied
//   power(operands, group)  that B's elements are multiplied by
//   leave(sums, operands, rows, tile, row, y)  the epilogue, of a warp's 16 rows
#pragma once
#include "async_copy.cuh"
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "mbarrier.cuh"
#include "wgmma_shared.cuh"

#ifndef AUTOTUNE_EMULATOR
#define WGMMA_SUMS_88 WGMMA_SUMS_80, WGMMA_SUMS_4(80), WGMMA_SUMS_4(84)
#define WGMMA_NAMES_88 WGMMA_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
WGMMA(wgmma_fp16, f16, ", 0", 176, 16, 88, WGMMA_NAMES_88, "%88", "%89", "%90", "%91", "%92", "%93")
#endif

namespace {

constexpr int kConsumerWarps = 8, kProducerWarps = PRODUCERS / 32, kConsumerThreads = 32 * kConsumerWarps;
constexpr int kConsumerRegisters = PRODUCERS == 128 ? 224 : COLUMNS > 128 ? 216 : 208, kProducerRegisters = PRODUCERS == 128 ? 64 : 256 - kConsumerRegisters;
constexpr int kStageDepth = DEPTH * kStepDepth, kBoxLines = 8, kBoxBytes = kBoxLines * kStageDepth * 4;
constexpr int kSlabBytes = COLUMNS * 16, kPlaneBytes = kSlabs * kSlabBytes, kStageBytes = DEPTH * kPlaneBytes;
constexpr int kRowBytes = 2 * kBoxBytes;  // a warp's
constexpr int kColumnBoxes = (COLUMNS + 31) / 32 * 4, kBoxesOfWarp = (kColumnBoxes + kProducerWarps - 1) / kProducerWarps;
constexpr int kRingBytes = kConsumerWarps * kRowBytes + kColumnBoxes * kBoxBytes;
static_assert(DEPTH == 2 && TILE_M == 16 * kConsumerWarps && AHEAD * kRingBytes + STAGES * (kStageBytes + 16) == SHARED_BYTES, "op.yaml and the kernel differ");

// boxed is where a line of a box has a piece of 16 bytes: lanes that read down lines, or two pieces of four, share no banks.
__device__ __forceinline__ constexpr int boxed(int line, int piece) { return line * 128 + (piece ^ (line % 2 * 4 + line / 2 % 2 * 2 + line / 4)) * 16; }

// copy_box starts to copy a box from a matrix of Length elements a line; there are zeros outside of it.
template <int Length>
__device__ __forceinline__ void copy_box(char* to, const float* matrix, int line, int lines, int element) {
    const int lane = threadIdx.x % 32;
    if constexpr (Length % 4 == 0) {
#pragma unroll
        for (int i = 0; i < kBoxLines; i += 4) {
            const int l = i + lane / 8, e = element + lane % 8 * 4;
            const bool valid = line + l < lines && e < Length;
            const float* const from = matrix + (valid ? static_cast<long long>(line + l) * Length + e : 0);
            if (CACHED)
                async_copy_cached<16>(to + boxed(l, lane % 8), from, valid);
            else
                async_copy<16>(to + boxed(l, lane % 8), from, valid);
        }
    } else {
#pragma unroll
        for (int l = 0; l < kBoxLines; ++l) {
            const bool valid = line + l < lines && element + lane < Length;
            async_copy_cached<4>(to + boxed(l, lane / 4) + lane % 4 * 4, matrix + (valid ? static_cast<long long>(line + l) * Length + element + lane : 0), valid);
        }
    }
}

// split is split_fp16x2 of what is not bounded: where an element has no fp16, sums are not finite.
__device__ __forceinline__ void split(float a, float b, unsigned& high, unsigned& low) {
    high = pack_fp16x2(a, b);
    low = pack_fp16x2(a - fp16_low(high), b - fp16_high(high));
}

// Ring counts the places of one.
template <int Places>
struct Ring {
    int place = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++place == Places) place = 0, parity ^= 1;
    }
    __device__ __forceinline__ int before() const { return place == 0 ? Places - 1 : place - 1; }
};

struct SplitMemory {
    char* memory;
    __device__ __forceinline__ char* stage(int place) const { return memory + place * kStageBytes; }
    __device__ __forceinline__ char* rows(int place, int warp) const { return stage(STAGES) + place * kRingBytes + warp * kRowBytes; }
    __device__ __forceinline__ char* columns(int place, int box) const { return rows(place, kConsumerWarps) + box * kBoxBytes; }
    __device__ __forceinline__ Mbarrier* full(int place) const { return reinterpret_cast<Mbarrier*>(rows(AHEAD, 0)) + place; }
    __device__ __forceinline__ Mbarrier* empty(int place) const { return full(STAGES) + place; }
    __device__ __forceinline__ void initialise() const {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(full(i), kProducerWarps);
            mbarrier_init(empty(i), kConsumerWarps);
        }
        publish_to_async_proxy();
    }
};

// Ahead is the stage that a warp copies next.
template <class Work>
struct Ahead {
    int index = blockIdx.x, stage = 0, end = 0;
    Tile tile = {};
    __device__ __forceinline__ Ahead() { begin(); }
    __device__ __forceinline__ bool there() const { return index < Tiles<Work>::all(); }
    __device__ __forceinline__ void begin() {
        if (!there()) return;
        tile = Tiles<Work>::at(index);
        stage = 0, end = Work::stages(tile);
    }
    __device__ __forceinline__ void next() {
        if (++stage < end) return;
        index += gridDim.x;
        begin();
    }
};

// ---- The producers.

// read_half gives eight elements of k of a column of a box, and tells which: of those of the tile, and of the stage's halves of steps.
template <class Work>
__device__ __forceinline__ void read_half(const char* boxes, int box, float (&v)[8], int& column, int& half) {
    const int lane = threadIdx.x % 32;
    if (Work::kAcross) {
        column = box / 4 * 32 + lane, half = box % 4;
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = *reinterpret_cast<const float*>(boxes + boxed(i, lane / 4) + lane % 4 * 4);
    } else {
        column = box * kBoxLines + lane % 8, half = lane / 8;
#pragma unroll
        for (int i = 0; i < 8; i += 4) {
            const float4 four = *reinterpret_cast<const float4*>(boxes + boxed(lane % 8, half * 2 + i / 4));
            v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
        }
    }
}

__device__ __forceinline__ void store_parts(char* stage, int column, int half, const float (&v)[8]) {
    unsigned high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(v[2 * i], v[2 * i + 1], high[i], low[i]);
    char* const to = stage + half / 2 * kPlaneBytes + half % 2 * kSlabBytes + column * 16;
    *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<uint4*>(to + 2 * kSlabBytes) = make_uint4(low[0], low[1], low[2], low[3]);
}

template <class Work>
__device__ __forceinline__ void produce(const SplitMemory& memory, const typename Work::Operands& of) {
    constexpr int boxes = Work::kAcross ? kColumnBoxes : COLUMNS / kBoxLines;
    const int warp = threadIdx.x / 32 - kConsumerWarps;
    Ahead<Work> ahead;
    const auto copy = [&](int place) {
        if (ahead.there()) {
            const float* const matrix = of.columns(ahead.tile.group);
            const int first = ahead.tile.n * TILE_N, k = ahead.stage * kStageDepth;
#pragma unroll
            for (int i = 0; i < kBoxesOfWarp; ++i) {
                const int box = warp + i * kProducerWarps;
                if (box >= boxes) break;
                if constexpr (Work::kAcross)
                    copy_box<Work::kColumns>(memory.columns(place, box), matrix, k + box % 4 * kBoxLines, Work::kTerms, first + box / 4 * 32);
                else
                    copy_box<Work::kTerms>(memory.columns(place, box), matrix, first + box * kBoxLines, Work::kColumns, k);
            }
            ahead.next();
        }
        async_copy_commit();
    };
#pragma unroll
    for (int i = 0; i < AHEAD - 1; ++i) copy(i);
    Ring<AHEAD> ring;
    Ring<STAGES> pipeline;
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        const int end = Work::stages(tile);
        const float power = Work::power(of, tile.group);
        for (int s = 0; s < end; ++s, ring.next(), pipeline.next()) {
            async_copy_wait<AHEAD - 2>();
            __syncwarp();  // other lanes' copies are there, and what they read before is not needed any more
            copy(ring.before());
            mbarrier_wait(memory.empty(pipeline.place), pipeline.parity ^ 1);
#pragma unroll
            for (int i = 0; i < kBoxesOfWarp; ++i) {
                const int box = warp + i * kProducerWarps;
                if (box >= boxes) break;
                float v[8];
                int column, half;
                read_half<Work>(memory.columns(ring.place, box), box, v, column, half);
#pragma unroll
                for (float& x : v) x *= power;
                if (COLUMNS % 32 == 0 || column < COLUMNS) store_parts(memory.stage(pipeline.place), column, half, v);
            }
            publish_to_async_proxy();
            __syncwarp();
            if (threadIdx.x % 32 == 0) mbarrier_arrive(memory.full(pipeline.place));
        }
    }
}

// ---- The consumers.

// load_rows gives a step's fragment of a warp's 16 rows, in parts.
template <class Rows>
__device__ __forceinline__ void load_rows(const char* boxes, const Rows& rows, int step, int k, unsigned (&high)[4], unsigned (&low)[4]) {
    const int lane = threadIdx.x % 32, line = lane / 4, pair = lane % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int half = i % 2, eight = i / 2;
        const float2 two = *reinterpret_cast<const float2*>(boxes + half * kBoxBytes + boxed(line, step * 4 + eight * 2 + pair / 2) + pair % 2 * 8);
        const int at = k + step * kStepDepth + eight * 8 + pair * 2;
        split(rows.factor(two.x, half, at), rows.factor(two.y, half, at + 1), high[i], low[i]);
    }
}

template <class Work>
__device__ __forceinline__ void consume(const SplitMemory& memory, const typename Work::Operands& of, float* y) {
    typedef typename Work::Rows Rows;
    const int warp = threadIdx.x / 32, mine = warp * 16, late = warp / 4 * (kChunk / 2);  // consumers move sums in turn
    Ahead<Work> ahead;
    const auto copy = [&](int place) {
        if (ahead.there()) {
#pragma unroll
            for (int i = 0; i < 2; ++i)
                copy_box<Work::kTerms>(memory.rows(place, warp) + i * kBoxBytes, of.rows(ahead.tile.group), ahead.tile.m * TILE_M + mine + i * kBoxLines, QUERIES,
                                       ahead.stage * kStageDepth);
            ahead.next();
        }
        async_copy_commit();
    };
#pragma unroll
    for (int i = 0; i < AHEAD - 1; ++i) copy(i);
    if (static_cast<int>(blockIdx.x) >= Tiles<Work>::all()) return;
    Ring<AHEAD> ring;
    Ring<STAGES> pipeline;
    Sums sums = {}, some = {};
    Tile tile = Tiles<Work>::at(blockIdx.x);
    Rows rows(of, tile, tile.m * TILE_M + mine);
    // leave is of the tile before the index-th; it looks for all that it needs again, since registers are few.
    const auto leave = [&](int index) {
        const Tile done = Tiles<Work>::at(index - gridDim.x);
        Work::leave(sums, of, Rows(of, done, done.m * TILE_M + mine), done, mine, y);
    };
    int index = blockIdx.x;
    for (; index < Tiles<Work>::all(); index += gridDim.x) {
        const int end = Work::stages(tile);
        Tile next = tile;
        Rows next_rows = rows;
        for (int s = 0; s < end; ++s, ring.next(), pipeline.next()) {
            async_copy_wait<AHEAD - 2>();
            __syncwarp();
            copy(ring.before());
            const bool begins = s == 0 || (s + late) % kChunk == 0, ends = s + 1 == end || (s + 1 + late) % kChunk == 0;
            unsigned high[DEPTH][4], low[DEPTH][4];
#pragma unroll
            for (int step = 0; step < DEPTH; ++step) {
                load_rows(memory.rows(ring.place, warp), rows, step, s * kStageDepth, high[step], low[step]);
                if (step == 0) mbarrier_wait(memory.full(pipeline.place), pipeline.parity);
                const Slabs columns = {memory.stage(pipeline.place) + step * kPlaneBytes, kSlabBytes}, rest = columns.moved(2 * kSlabBytes);
                wgmma_fence();
                wgmma_fp16<COLUMNS>(some, low[step], columns, step > 0 || !begins);  // the smallest first
                wgmma_fp16<COLUMNS>(some, high[step], rest, true);
                wgmma_fp16<COLUMNS>(some, high[step], columns, true);
                wgmma_commit();
                wgmma_wait_groups<1>();  // the registers of the step before may change
                if (step == 0 && !begins && threadIdx.x % 32 == 0) mbarrier_arrive(memory.empty(pipeline.place == 0 ? STAGES - 1 : pipeline.place - 1));
            }
            if (s == 0 && index >= static_cast<int>(gridDim.x)) {
                leave(index);
#pragma unroll
                for (float& sum : sums) sum = 0.0f;
            }
            if (s + 1 == end && index + static_cast<int>(gridDim.x) < Tiles<Work>::all()) {
                next = Tiles<Work>::at(index + gridDim.x);
                next_rows = Rows(of, next, next.m * TILE_M + mine);
            }
            if (ends) {
                wgmma_wait(some);
                if (threadIdx.x % 32 == 0) mbarrier_arrive(memory.empty(pipeline.place));
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
__device__ __forceinline__ void split_gemm(char* shared, const typename Work::Operands& of, float* y) {
    const SplitMemory memory = {shared};
    if (threadIdx.x == 0) memory.initialise();
    wait_for_launches();
    __syncthreads();
    if (threadIdx.x >= kConsumerThreads) {
        fewer_registers<kProducerRegisters>();
        produce<Work>(memory, of);
    } else {
        more_registers<kConsumerRegisters>();
        consume<Work>(memory, of, y);
    }
}

}  // namespace
