// split_gemm.cuh: the mainloop of split.cu. D = A * B of floats, as their owner has them, by warpgroup
// products of two parts of fp16, three for one (slab_operands.cuh). A stage is 32 elements of k.
//
//   a loader         a thread that asks the copy engine for lines of 128 bytes of A's rows and B's columns, AHEAD
//                    stages before they are needed. Blocks of a cluster bring B together
//   converters       seven warps that split B's columns to parts, as products take them, into a pipeline of
//                    STAGES: 32 columns of a stage each, in turn
//   two consumers    warpgroups that split 64 rows of A each on the way to registers, and multiply them
//
// Nothing that a thread waits for is a copy of its own: the fence between what converters store and
// products waits for stores to shared memory alone.
//
// A consumer does nothing between the start of its products and their end; the other one's fill that time. Products
// read A's registers until they end, but compilers use these again before. And with products under way from one turn of
// a loop to the next, compilers let all products wait for each other.
//
// A place in shared memory is given back when what was read there has been used: an arrival at a barrier waits for no
// load. Products have had rows by then, and converters have stored columns in parts.
//
// A lane reads four elements of k side by side, where products want two and two more eight further
// on. So the elements of a step are multiplied in another order (place_of), of rows and columns alike.
// Rows of a warp are in another order, too (row_of): lanes that read together share no banks.
//
// A's rows may be in parts already, which need no splitting: the fragment of four lanes side by side, a step in 64 bytes.
//
// Sums of some stages move to others (gemm_tiles.cuh).
//
// A Work has, beside what gemm_tiles.cuh asks of it,
//
//   kInParts                whether A's rows are in parts
//   kAcross                 whether B's lines in memory are of columns, and follow each other along k; else columns do
//   stages(tile)            of a tile
//   kMoves                  stages after which sums move
//   group_b(group)          B's of a group
//   Operands                maps: of lines of A and B; and what else it needs
//   power_a(operands, group), power(operands, group)  that A's elements are multiplied by, if they are not in parts, and B's
//   Rows(operands, tile, row)  what sums of the rows `row` and `row` + 8 need: begin(i) and move(sums, some) before and
//                           after the i-th kMoves stages
//   leave(sums, operands, rows, tile, row, y)  the epilogue, of such rows
#pragma once
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "multicast.cuh"
#include "wgmma.cuh"

namespace {

constexpr int kConsumerWarps = TILE_M / 16, kConverterWarps = THREADS / 32 - kConsumerWarps - 1;
constexpr int kConverter = 32 * kConsumerWarps, kLoader = THREADS - 32;  // threads, the first of each
// Together no more than a block of 512 threads begins with: a warpgroup that asks for more waits for ever.
constexpr int kConsumerRegisters = 200, kOtherRegisters = 56;
static_assert(2 * kConsumerRegisters + 2 * kOtherRegisters <= 4 * (65536 / THREADS), "more registers than a block has");

constexpr int kStageDepth = DEPTH * kStepDepth, kLineBytes = kStageDepth * 4;
constexpr int kSlabBytes = COLUMNS * 16, kPlaneBytes = kSlabs * kSlabBytes;  // of columns in parts
constexpr int kPieces = COLUMNS / 32;  // of a stage, that warps split
constexpr int kColumnsOfBlock = COLUMNS / CLUSTER, kLinesOfBlock = kStageDepth / CLUSTER;     // that it loads for the cluster
static_assert(DEPTH == 2 && COLUMNS % 32 == 0 && kColumnsOfBlock % 8 == 0, "a line is 128 bytes, and eight of them are swizzled");

// place_of gives the element of k in the i-th place of a step.
template <class Work>
__device__ __forceinline__ constexpr int place_of(int i) {
    return Work::kInParts ? i : i % 8 / 2 * 4 + i / 8 * 2 + i % 2;
}

// row_of is which of eight rows a lane has in the first of them.
__device__ __forceinline__ int row_of() { return threadIdx.x % 32 / 8 + threadIdx.x / 4 % 2 * 4; }

// split is split_fp16x2 of what is not bounded: where an element has no fp16, sums are not finite.
__device__ __forceinline__ void split(float a, float b, unsigned& high, unsigned& low) {
    high = pack_fp16x2(a, b);
    low = pack_fp16x2(a - fp16_low(high), b - fp16_high(high));
}

// ---- Shared memory: rows, columns and columns in parts, a ring of stages each, whose bytes op.yaml derives: ROW_BYTES,
// COLUMN_BYTES and STAGE_BYTES.

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

// ---- The loader.

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
    int piece = threadIdx.x / 32 - kConsumerWarps;  // the warp's next one, from the stage at hand on
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
            // Warps without a piece say so, too: a barrier tells two phases apart, no more, and must not leave them behind.
            columns.release_everywhere(from);
            parts.give(to);
        }
    }
}

// ---- The consumers.

// Fragment is a stage of a warp's rows, in parts.
struct Fragment {
    unsigned high[DEPTH][4], low[DEPTH][4];
};

// Lines brings rows to registers, stage after stage of all tiles of the block, and splits them.
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
    // bring reads the stage, behind the last of which there is none.
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
    // give splits what came.
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

// multiply starts the products of a stage.
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
    const int late = Work::kInParts ? 0 : warp / 4 * (Work::kMoves / 2);  // consumers move sums in turn
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
            ring.release(from);  // products have had the fragment
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
