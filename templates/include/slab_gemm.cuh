// slab_gemm.cuh: the tensor-core mainloop of Hopper (sm_90a): D = A * B.
//
// Warps are specialised. Producers fill the stages of a pipeline with operands in a form that
// products take them in. One warp may do it, by asking the copy engine. It asks for what lies in
// memory like that (slab_operands.cuh, packed_operands.cuh) or for what tensor maps bring
// (mapped_operands.cuh, convolution_tma_conv.cu). Or many load operands as they are and round them
// (gathered_operands.cuh). One or two consumer warpgroups multiply a stage as soon as it is
// there, straight from shared memory, and keep the sums in registers. The epilogue takes those
// through shared memory, a few columns at a time, so that a warp's stores are runs of 128 bytes.
// Blocks stay and take tile after tile; the producer is stages ahead, in the next tile already
// while the last is in its epilogue.
//
// Tunables that a kernel using this has, as macros:
//
//   ARRANGEMENT  of the consumers: alone; stacked, two that share B's columns; beside,
//                two that share A's rows; pingpong, two with a tile each, one in its
//                epilogue while the other multiplies
//   ROW_BLOCKS   of 64 rows, a consumer
//   COLUMNS      a consumer. ROW_BLOCKS * COLUMNS / 2 registers hold sums, or twice as many
//                (kMovesSums); larger tiles read less of the L2 for a product, smaller
//                ones are more of them
//   DEPTH        steps of k in a stage: fewer barriers, and in a convolution fewer loads,
//                against room for stages
//   STAGES       of the pipeline: what is asked for ahead
//   SPLITS       blocks that share a tile's k (split_k.cuh), where tiles are few
//   KEPT         whether B of all stages of a tile stays in shared memory, where all tiles have the same;
//                defined where the producer can do that
//   SHARING      whether the last tiles are shared along k, so that all blocks end at a time
//                (shared_tiles.cuh); defined where the producer can do that
//   CLUSTER      blocks whose tiles lie below each other, and which load their columns together
//                (multicast.cuh); defined where the producer can do that
//   PRODUCERS    threads that gather operands; not defined where those are packed
//
// and what op.yaml derives from them: CONSUMERS, THREADS, TILE_M, TILE_N, SPAN, PLANES; and of shared memory, which
// it allocates, in bytes: PAD behind a slab, STAGE_BYTES, with STAGE_A_BYTES of A's rows, BUFFER_BYTES of a consumer
// warp's, none where columns lie side by side in the output (gemm_tiles.cuh), and WEIGHT_BYTES of a stage's B that
// is kept, of KEPT_STAGES.
//
// A kernel brings its Work, as gemm_tiles.cuh has it, with
//
//   step_shift(u)    columns that step u of a stage is further on, in a plane that the steps
//                    share (PLANES = 1; with PLANES = DEPTH each has its own)
//   Operands         what the producers read; see theirs for what they ask of Work
#pragma once
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "mbarrier.cuh"
#include "multicast.cuh"
#include "named_barrier.cuh"
#include "shared_tiles.cuh"
#include "slab_operands.cuh"
#include "wgmma.cuh"

#ifndef KEPT
#define KEPT 0
#define KEPT_STAGES 0
#define WEIGHT_BYTES 0
#endif

enum Arrangement { alone, stacked, beside, pingpong };

// What the kind of producers decides. Registers are the warpgroups' as they need them.
#ifdef PRODUCERS
constexpr int kFilling = PRODUCERS / 32;  // warps that fill a stage
constexpr bool kRegistersMove = PRODUCERS > 128 && CONSUMERS > 1;  // with fewer threads all have enough
constexpr int kProducerRegisters = 80, kConsumerRegisters = 176;
#else
constexpr int kFilling = 1;
constexpr bool kRegistersMove = CONSUMERS > 1;
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
#endif
constexpr int kProducerThread = 128 * CONSUMERS;  // the first
constexpr int kPingPong = 1;                      // two named barriers, a consumer's turn each

// ---- The pipeline: STAGES places in shared memory, each with A's blocks and B's planes. B that is kept lies behind
// them, of all stages of a tile; then come the consumer warps' buffers, and barriers.

constexpr int kRowSlabBytes = kBlockRows * 16 + PAD, kStepBytes = kSlabs * kRowSlabBytes;  // of a block of A
// Of B. Macros, since a convolution's span may be known at run time alone.
#define COLUMN_SLAB_BYTES (SPAN * 16 + PAD)
#define COLUMN_PLANE_BYTES (kSlabs * COLUMN_SLAB_BYTES)
static_assert(PLANES == 1 || (PLANES % DEPTH == 0 && SPAN == TILE_N), "steps share a plane, or have one each, or one for each tap");

struct Pipeline {
    char* memory;
    __device__ __forceinline__ char* stage(int slot) const { return memory + slot * STAGE_BYTES; }
    // columns is where B of a tile's stage lies.
    __device__ __forceinline__ char* columns(int slot, int index) const {
        return KEPT ? stage(STAGES) + index * WEIGHT_BYTES : stage(slot) + STAGE_A_BYTES;
    }
    __device__ __forceinline__ char* buffer(int warp) const {
        return stage(STAGES) + KEPT_STAGES * WEIGHT_BYTES + warp * BUFFER_BYTES;
    }
    __device__ __forceinline__ Mbarrier* full(int slot) const { return reinterpret_cast<Mbarrier*>(buffer(4 * CONSUMERS)) + slot; }
    __device__ __forceinline__ Mbarrier* empty(int slot) const { return full(STAGES) + slot; }
    __device__ __forceinline__ Mbarrier* kept(int index) const { return empty(STAGES) + index; }  // is B of a stage there?

    // initialise is one thread's; the others wait for it at a barrier. A warp each
    // releases a stage: four of the one consumer in ping-pong, else of all.
    __device__ __forceinline__ void initialise() const {
        for (int slot = 0; slot < STAGES; ++slot) {
            mbarrier_init(full(slot), kFilling);
            mbarrier_init(empty(slot), CLUSTER * (ARRANGEMENT == pingpong ? 4 : 4 * CONSUMERS));
        }
        for (int i = 0; i < KEPT_STAGES; ++i) mbarrier_init(kept(i), 1);
        publish_to_async_proxy();
    }
    // release is called by all lanes of a warp that has read a stage.
    __device__ __forceinline__ void release(int slot) const {
        const int lane = threadIdx.x % 32;
        if (CLUSTER > 1 && lane < CLUSTER) mbarrier_arrive_at(empty(slot), lane);
        if (CLUSTER == 1 && lane == 0) mbarrier_arrive(empty(slot));
    }
};

// Turn counts stages of all tiles; a slot's barriers change their parity from turn to turn.
struct Turn {
    int slot, parity;
    __device__ __forceinline__ Turn() : slot(0), parity(0) {}
    __device__ __forceinline__ void next() {
        if (++slot == STAGES) {
            slot = 0;
            parity ^= 1;
        }
    }
    __device__ __forceinline__ void skip(int stages) {
        slot += stages;
        parity ^= slot / STAGES & 1;
        slot %= STAGES;
    }
};

// ---- The consumers.

constexpr WgmmaType kFactors = kOfParts == one_tf32 ? wgmma_of_tf32 : kAreBf16 ? wgmma_of_bf16 : wgmma_of_fp16;

// SlabProducts are those of slabs (slab_operands.cuh). start starts those of the stage that is
// the index-th of a tile, of A and B: the consumer's rows begin at a block, its columns at one of the tile's.
struct SlabProducts {
    static constexpr bool kFromRegisters = false;  // rows

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns, int /*index*/, int block, int column) {
        const char* const a = stage + block * DEPTH * kStepBytes;
        const char* const b = columns + column * 16;
        wgmma_fence();
#pragma unroll
        for (int phase = 0; phase < kPhases; ++phase) {
#pragma unroll
            for (int step = 0; step < DEPTH; ++step) {
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r)
                    multiply(sums[r], phase, {a + (r * DEPTH + step) * kStepBytes, kRowSlabBytes},
                             {b + (PLANES > 1 ? step * COLUMN_PLANE_BYTES : Work::step_shift(step) * 16), COLUMN_SLAB_BYTES});
            }
        }
    }

    // multiply starts a phase's products of a step: 64 rows of A by COLUMNS columns of B. The parts
    // of floats are multiplied in phases, the smallest first, while the sums are small, too.
    static constexpr int kPhases = kPartCount;
    __device__ __forceinline__ static void multiply(Sums& sums, int phase, const Slabs& rows, const Slabs& columns) {
        if constexpr (kOfParts == one_tf32) {  // the lower and the upper half of the depth
            wgmma<kFactors, COLUMNS>(sums, rows, columns);
            wgmma<kFactors, COLUMNS>(sums, rows.moved(2 * kRowSlabBytes), columns.moved(2 * COLUMN_SLAB_BYTES));
        } else {
            const int both = kPartCount - 1 - phase;  // part i of A by part both - i of B
#pragma unroll
            for (int i = both; i >= 0; --i) {
                const Slabs left = rows.moved(i * 2 * kRowSlabBytes), right = columns.moved((both - i) * 2 * COLUMN_SLAB_BYTES);
                wgmma<kFactors, COLUMNS>(sums, left, right);
            }
        }
    }
};

// warp_row is where in a tile the 16 rows begin that a warp has of its r-th block of 64. From shared
// memory a product gives each warp 16 neighbours of 64; rows from registers may be any, and a
// warp's lie side by side, so that more of them leave together.
template <class Products>
__device__ __forceinline__ int warp_row(int block, int r) {
    const int warp = threadIdx.x / 32 % 4;
    return block * kBlockRows + (Products::kFromRegisters ? (warp * ROW_BLOCKS + r) * 16 : r * kBlockRows + warp * 16);
}

// multiply_stages adds up the products of some stages of a tile.
template <class Work, class Products>
__device__ __forceinline__ void multiply_stages(Sums (&sums)[ROW_BLOCKS], const Pipeline& pipeline, Turn& turn, const Stages& stages,
                                                int block, int column) {
    int last = 0;
    // A short loop is unrolled, and ptxas then moves zeros to sums between products, which serialises
    // those, unless the sums are named before.
    if constexpr (Work::kStages < 8) {
#pragma unroll
        for (int r = 0; r < ROW_BLOCKS; ++r) wgmma_wait(sums[r]);
    }
    for (int s = stages.first; s < stages.end; ++s, turn.next()) {
        mbarrier_wait(pipeline.full(turn.slot), turn.parity);
        if (KEPT) mbarrier_wait(pipeline.kept(s), 0);
        Products::template start<Work>(sums, pipeline.stage(turn.slot), pipeline.columns(turn.slot, s), s, block, column);
        wgmma_commit();
        wgmma_wait_groups<1>();  // the stage before has been read
        if (s > stages.first) pipeline.release(last);
        last = turn.slot;
    }
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; ++r) wgmma_wait(sums[r]);
    pipeline.release(last);
}

// Blocks of 16 rows that leave together.
template <class Work, class Products>
constexpr int kTogether = Work::Output::kMixed == 0 && Products::kFromRegisters && ROW_BLOCKS > 1 ? 2 : 1;

// fetch_tile fetches what an epilogue wants beside a warp's part of a tile, if the block ends that.
template <class Work, class Products>
__device__ __forceinline__ void fetch_tile(const TakenTiles<Work>& taken, const typename Work::Output::Given& given,
                                           int block, int column) {
    if (taken.stages.end < Work::kStages) return;
    const Tile tile = Tiles<Work>::at(taken.index);
    const typename Work::Output output(tile, given);
    constexpr int together = kTogether<Work, Products>;
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; r += together)
        fetch<together>(output, tile.m * TILE_M + warp_row<Products>(block, r), tile.n * TILE_N + column);
}

template <class Work, class Products, class Stored, class Plain>
__device__ __forceinline__ void consume(const Pipeline& pipeline, typename Work::Output::Given given, Stored* y, const Plain& plain, const LeftSums& left) {
    const int warp = threadIdx.x / 32, consumer = warp / 4;
    const int block = ARRANGEMENT == stacked ? consumer * ROW_BLOCKS : 0;  // the consumer's first, and its first column
    const int column = ARRANGEMENT == beside ? consumer * COLUMNS : 0;
    Turn turn;
    int count = 0;
    for (TakenTiles<Work> ahead; ahead.more(); ++count) {
        const TakenTiles<Work> taken = ahead;
        const Stages stages = taken.stages;
        ahead.next();
        if (ARRANGEMENT == pingpong && count % 2 != consumer) {
            turn.skip(stages.end - stages.first);
            continue;
        }
        if constexpr (kLoads<typename Work::Output>) {  // while the other multiplies, or a tile ahead
            if (ARRANGEMENT == pingpong || count == 0) fetch_tile<Work, Products>(taken, given, block, column);
            if (ARRANGEMENT != pingpong && ahead.more()) fetch_tile<Work, Products>(ahead, given, block, column);
        }
        // In ping-pong the other's stages must be read first: a barrier's parity cannot tell
        // a turn from the one after the next.
        if (ARRANGEMENT == pingpong && count > 0) named_barrier_wait(kPingPong + consumer, 256);
        Sums sums[ROW_BLOCKS] = {};
        if (kMovesSums<Work::kStages>) {
            // Consumers of a tile move theirs in turn, so that one multiplies meanwhile.
            int chunk = ARRANGEMENT != pingpong && consumer > 0 ? (kChunk + 1) / 2 : kChunk;
            Sums some[ROW_BLOCKS] = {};
            for (int first = stages.first; first < stages.end; first += chunk, chunk = kChunk) {
                if (chunk > stages.end - first) chunk = stages.end - first;
                multiply_stages<Work, Products>(some, pipeline, turn, {first, first + chunk}, block, column);
                move_sums(some, sums);
            }
        } else {
            multiply_stages<Work, Products>(sums, pipeline, turn, stages, block, column);
        }
        if (ARRANGEMENT == pingpong && ahead.more()) named_barrier_arrive(kPingPong + 1 - consumer, 256);
        if constexpr (SHARING > 0) {
            constexpr int warps = ARRANGEMENT == pingpong ? 4 : 4 * CONSUMERS;
            if (stages.end < Work::kStages) {
                left.leave(sums, warp % warps, warps);
                continue;
            }
            if (stages.first > 0) taken.for_each_before([&](int before) { left.add(sums, before, warp % warps, warps); });
        }

        const Tile tile = Tiles<Work>::at(taken.index);
        const typename Work::Output output(tile, given);
        Stored* const sums_of_split = y + tile.split * Work::outputs();
        constexpr bool side_by_side = Work::Output::kMixed == 0;
        static_assert(!side_by_side || STAGE_BYTES % 128 == 0, "buffers begin at multiples of 128 bytes");
        constexpr int together = kTogether<Work, Products>;
        constexpr bool mends = Work::kMasked && SPLITS == 1;
        bool finite = !mends || all_finite(sums);
#pragma unroll
        for (int r = 0; r < ROW_BLOCKS; r += together) {
            const int row = tile.m * TILE_M + warp_row<Products>(block, r), first = tile.n * TILE_N + column;
            static_assert((Work::Output::kMixed == kWholeRows) == (BUFFER_BYTES == 0), "whole rows leave without buffers");
            if constexpr (Work::Output::kMixed == kWholeRows && kLoads<typename Work::Output>)
                finite &= store_finished_lines<mends>(sums[r], output, sums_of_split, row, first);
            else if constexpr (Work::Output::kMixed == kWholeRows)
                store_lines(sums[r], output, sums_of_split, row, first);
            else if constexpr (side_by_side)
                store_rows<together>(sums + r, output, sums_of_split, reinterpret_cast<float*>(pipeline.buffer(warp)), row, first);
            else
                store_sums(sums[r], output, sums_of_split, reinterpret_cast<float*>(pipeline.buffer(warp)), row, first);
        }
        if constexpr (mends)
            if (__any_sync(0xffffffffu, !finite))
#pragma unroll 1
                for (int r = 0; r < ROW_BLOCKS; ++r) mend(output, plain, y, tile.m * TILE_M + warp_row<Products>(block, r), tile.n * TILE_N + column);
    }
}

// ---- The kernel.

// slab_gemm is the whole kernel. Producer has produce<Work>(pipeline, operands), and Products,
// which start the products of a stage in the form that it leaves operands in.
template <class Work, class Producer, class Stored, class Plain = int>
__device__ __forceinline__ void slab_gemm(char* memory, const typename Work::Operands& operands,
                                          typename Work::Output::Given given, Stored* y, const Plain& plain = 0,
                                          const LeftSums& left = {}) {
    const Pipeline pipeline = {memory};
    if (threadIdx.x == 0) pipeline.initialise();
    wait_for_launches();
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();
    if (threadIdx.x >= kProducerThread) {
        if (kRegistersMove) fewer_registers<kProducerRegisters>();
        if (threadIdx.x < kProducerThread + 32 * kFilling) Producer::template produce<Work>(pipeline, operands);
    } else {
        if (kRegistersMove) more_registers<kConsumerRegisters>();
        consume<Work, typename Producer::Products>(pipeline, given, y, plain, left);
    }
    if (CLUSTER > 1) meet_cluster();  // others may still tell this block what they have read
}
