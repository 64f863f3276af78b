// split_gemm.cuh: the mainloop of split.cu. D = A * B of floats, as their owner has them, by warpgroup
// products of two parts of fp16, three for one (slab_operands.cuh). A stage is 32 elements of k.
//
//   a loader         a thread that asks the copy engine for lines of 128 bytes of B's columns, AHEAD stages before they
//                    are needed. Blocks of a cluster bring them together
//   converters       seven warps that split them to parts, as products take them, into a pipeline of STAGES: 32 columns
//                    of a stage each, in turn
//   two consumers    warpgroups that multiply 64 rows of A each, which come straight to their registers, a stage ahead
//
// Rows pass shared memory by, since products, converters and copies of columns leave no room there: they take 768
// clocks of a stage of 128 columns, as tensor cores do. No thread that fences waits for copies of its own.
//
// A consumer does nothing between the start of its products and their end; the other one's fill that time. Products
// read A's registers until they end, but compilers use these again before. And with products under way from one turn of
// a loop to the next, compilers let all products wait for each other.
//
// A place in shared memory is given back when what was read there has been used: an arrival at a barrier waits for no
// load. Converters have stored it in parts by then.
//
// A lane reads four elements of k side by side, where products want two and two more eight further
// on. So the elements of a step are multiplied in another order (place_of), of rows and columns alike.
// A's rows may be in parts already, which need no splitting: the fragment of four lanes side by side, a step in 64 bytes.
//
// Sums of some stages move to others (gemm_tiles.cuh).
//
// A Work has, beside what gemm_tiles.cuh asks of it,
//
//   kInParts                whether A's rows are in parts
//   kAcross                 whether B's lines in memory are of columns, and follow each other along k; else columns do
//   kApart                  elements of k of a row of A, which rows are apart
//   stages(tile)            of a tile
//   kMoves                  stages after which sums move
//   group_b(group)          B's of a group
//   Operands                map: of B (box_of_lines, or box_across); and what else it needs
//   line(operands, group, row)  where a row of A begins; there are QUERIES
//   power_a(operands, group), power(operands, group)  that A's elements are multiplied by, if they are not in parts, and B's
//   Rows(operands, tile, row)  what sums of the rows `row` and `row` + 8 need: begin(i) and move(sums, some) before and
//                           after the i-th kMoves stages
//   leave(sums, operands, rows, tile, row, y)  the epilogue, of such rows
#pragma once
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "multicast.cuh"
#include "wgmma_shared.cuh"

namespace {

constexpr int kConsumerWarps = 8, kConverterWarps = 7, kConverter = 32 * kConsumerWarps, kLoader = kConverter + 32 * kConverterWarps;
// Together no more than a block of 512 threads begins with: a warpgroup that asks for more waits for ever.
constexpr int kConsumerRegisters = 200, kOtherRegisters = 56;
static_assert(THREADS == kLoader + 32 && 2 * kConsumerRegisters + 2 * kOtherRegisters <= 4 * (65536 / THREADS), "more registers than a block has");

constexpr int kStageDepth = DEPTH * kStepDepth, kLineBytes = kStageDepth * 4;
constexpr int kColumnBytes = COLUMNS * kLineBytes;  // of a stage, as they come
constexpr int kSlabBytes = COLUMNS * 16, kPlaneBytes = kSlabs * kSlabBytes, kStageBytes = DEPTH * kPlaneBytes;  // in parts
constexpr int kPieces = COLUMNS / 32;  // of a stage, that warps split
constexpr int kColumnsOfBlock = COLUMNS / CLUSTER, kLinesOfBlock = kStageDepth / CLUSTER;     // that it loads for the cluster
static_assert(DEPTH == 2 && TILE_M == 16 * kConsumerWarps && COLUMNS % 32 == 0 && kColumnsOfBlock % 8 == 0, "a line is 128 bytes, and eight of them are swizzled");
static_assert(AHEAD * (kColumnBytes + 16) + STAGES * (kStageBytes + 16) == SHARED_BYTES, "op.yaml and the kernel differ");

// place_of gives the element of k in the i-th place of a step.
template <class Work>
__device__ __forceinline__ constexpr int place_of(int i) {
    return Work::kInParts ? i : i % 8 / 2 * 4 + i / 8 * 2 + i % 2;
}

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

// ---- Shared memory: columns, and columns in parts, a ring of stages each.

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
    __device__ __forceinline__ Mbarrier* barriers() const { return reinterpret_cast<Mbarrier*>(memory + AHEAD * kColumnBytes + STAGES * kStageBytes); }
    __device__ __forceinline__ Ring<AHEAD> columns() const { return {memory, barriers(), kColumnBytes}; }
    __device__ __forceinline__ Ring<STAGES> parts() const { return {memory + AHEAD * kColumnBytes, barriers() + 2 * AHEAD, kStageBytes}; }
    __device__ __forceinline__ void initialise() const {
        columns().initialise(1, CLUSTER * kConverterWarps);
        parts().initialise(kConverterWarps, kConsumerWarps);
        publish_to_async_proxy();
    }
};

// ---- The loader.

template <class Work>
__device__ __forceinline__ void load(const Ring<AHEAD>& columns, const TensorMap* map) {
    use_tensor_map(map);
    const int rank = rank_in_cluster();
    Ring<AHEAD>::At at;
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        const int column = tile.n * TILE_N, group = Work::group_b(tile.group);
        for (int s = 0, end = Work::stages(tile), k = 0; s < end; ++s, k += kStageDepth, at.next()) {
            columns.wait_empty(at);
            mbarrier_expect(columns.full(at), kColumnBytes);
            const int from[3] = {Work::kAcross ? column : k, Work::kAcross ? k + rank * kLinesOfBlock : column + rank * kColumnsOfBlock, group};
            char* const to = columns.stage(at) + rank * (kColumnBytes / CLUSTER);
            if (CLUSTER > 1)
                tensor_load_multicast(to, map, from, columns.full(at));
            else
                tensor_load(to, map, from, columns.full(at));
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
    int index, stage, end;
    const float* line;  // the lane's first element
    int below;          // how much further that of its other row is
    float power;
    float4 came[DEPTH][2];

    __device__ __forceinline__ Lines(const typename Work::Operands& of) : of(of), index(blockIdx.x) { begin(); }
    __device__ __forceinline__ void begin() {
        const Tile tile = Tiles<Work>::at(index);
        stage = 0, end = Work::stages(tile);
        const int lane = threadIdx.x % 32, row = tile.m * TILE_M + threadIdx.x / 32 * 16 + lane / 4, last = QUERIES - 1;
        line = Work::line(of, tile.group, row < last ? row : last) + lane % 4 * 4;
        below = row < last ? (row + 8 < last ? 8 : last - row) * Work::kApart : 0;
        if (!Work::kInParts) power = Work::power_a(of, tile.group);
    }
    // bring asks for the stage, behind the last of which there is none.
    __device__ __forceinline__ void bring() {
        if (index >= Tiles<Work>::all()) return;
        const int first = stage * kStageDepth;
#pragma unroll
        for (int step = 0; step < DEPTH; ++step)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int k = first + step * kStepDepth;
                const bool there = Work::kApart % kStageDepth == 0 || k + static_cast<int>(threadIdx.x) % 4 * 4 < Work::kApart;
                came[step][half] = there ? __ldcg(reinterpret_cast<const float4*>(line + half * below + k)) : make_float4(0, 0, 0, 0);
            }
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
        wgmma_fp16<COLUMNS>(some, rows.low[step], columns, step > 0 || add);  // the smallest first
        wgmma_fp16<COLUMNS>(some, rows.high[step], rest, true);
        wgmma_fp16<COLUMNS>(some, rows.high[step], columns, true);
    }
    wgmma_commit();
}

template <class Work>
__device__ __forceinline__ void consume(const Ring<STAGES>& parts, const typename Work::Operands& of, float* y) {
    const int warp = threadIdx.x / 32, mine = warp * 16 + threadIdx.x % 32 / 4;
    const int late = Work::kInParts ? 0 : warp / 4 * (Work::kMoves / 2);  // consumers move sums in turn
    Ring<STAGES>::At at;
    Sums sums = {}, some = {};
    Fragment fragment;
    Lines<Work> lines(of);
    lines.bring();
    lines.give(fragment);
    lines.next();
    lines.bring();
    for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
        const Tile tile = Tiles<Work>::at(index);
        typename Work::Rows rows(of, tile, tile.m * TILE_M + mine);
        for (int s = 0, end = Work::stages(tile); s < end; ++s, at.next()) {
            const bool begins = s == 0 || (s + late) % Work::kMoves == 0, ends = s + 1 == end || (s + 1 + late) % Work::kMoves == 0;
            if (begins) rows.begin(s / Work::kMoves);
            parts.wait_full(at);
            multiply(some, fragment, parts.stage(at), !begins);
            wgmma_wait(some);
            parts.release(at);
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
        consume<Work>(shared.parts(), of, y);
    } else {
        fewer_registers<kOtherRegisters>();
        if (threadIdx.x < kLoader)
            convert<Work>(shared, of);
        else if (threadIdx.x == kLoader)
            load<Work>(shared.columns(), of.map);
    }
    if (CLUSTER > 1) meet_cluster();  // others may still bring columns, or tell what they have read
}

}  // namespace
