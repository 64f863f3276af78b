// slab_gemm.cuh: the tensor-core mainloop for Hopper (sm_90a): D = A * B.
//
// Warps are specialised as producers and consumers. Producers fill the stages of a pipeline with operands in the layout
// that products need. One producer warp is enough if the copy engine does the copying: of operands that are packed in
// the layout of products (slab_operands.cuh, packed_operands.cuh), or by tensor maps (mapped_operands.cuh,
// convolution_tma_conv.cu). Without the copy engine, many threads load operands in their original layout and round them
// (gathered_operands.cuh). One or two consumer warpgroups multiply a stage as soon as it has arrived, directly from
// shared memory, and keep the sums in registers. The epilogue moves the sums through shared memory, a few columns at a
// time, so that a warp stores runs of 128 bytes. Blocks are persistent and compute tile after tile; the producer runs
// stages ahead, and is already in the next tile while the last one is in its epilogue.
//
// The tunables of a kernel that includes this file, as macros:
//
//   ARRANGEMENT: arrangement of the consumers (alone: there is one; stacked: two share B's columns;
//                beside: two share A's rows; pingpong: two have a tile each, and one is in its
//                epilogue while the other multiplies).
//   ROW_BLOCKS:  blocks of 64 rows per consumer.
//   COLUMNS:     columns per consumer. ROW_BLOCKS * COLUMNS / 2 registers hold sums, or twice as many
//                (kMovesSums); larger tiles read less from the L2 per product, but there
//                are fewer of them.
//   DEPTH:       steps of k in a stage: more steps need fewer barriers, and in a convolution fewer loads,
//                but leave room for fewer stages.
//   STAGES:      stages of the pipeline, which are loaded ahead.
//   SPLITS:      blocks that share a tile's k (split_k.cuh), if there are few tiles.
//   KEPT:        whether B of all stages stays in shared memory, if all tiles have the same B;
//                defined if the producer supports it.
//   SHARING:     whether the last tiles are shared along k, so that all blocks end at the same time
//                (shared_tiles.cuh); defined if the producer supports it.
//   CLUSTER:     blocks whose tiles lie below each other, and which load their columns together
//                (multicast.cuh); defined if the producer supports it.
//   PRODUCERS:   threads that gather operands; defined only by kernels with gathered operands.
//
// op.yaml derives CONSUMERS, THREADS, TILE_M, TILE_N, SPAN, PLANES from the tunables, and these sizes in bytes of the
// shared memory that it allocates: PAD after a slab; STAGE_BYTES per stage, of which A's rows take STAGE_A_BYTES;
// BUFFER_BYTES per consumer warp, 0 if columns are contiguous in the output (gemm_tiles.cuh); WEIGHT_BYTES for each of
// KEPT_STAGES stages of B that are kept.
//
// A kernel defines a class Work with the members that gemm_tiles.cuh lists, and these:
//
//   step_shift(u):   by how many columns step u of a stage is further to the right, if the steps share
//                    a plane (PLANES = 1; with PLANES = DEPTH each step has its own).
//   Operands:        type of the data that producers read; each kind of producer describes what it needs of
//                    Work.
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

// Constants that depend on the kind of producers: warps that fill stages, and the registers of each warpgroup.
#ifdef PRODUCERS
constexpr int kFilling = PRODUCERS / 32;  // warps that fill a stage
constexpr bool kRegistersMove = PRODUCERS > 128 && CONSUMERS > 1;  // with fewer threads all have enough registers
constexpr int kProducerRegisters = 80, kConsumerRegisters = 176;
#else
constexpr int kFilling = 1;
constexpr bool kRegistersMove = CONSUMERS > 1;
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
#endif
constexpr int kProducerThread = 128 * CONSUMERS;  // the first producer thread
constexpr int kPingPong = 1;                      // two named barriers, one for each consumer's turn

// ---- The pipeline: STAGES stages in shared memory, each with A's blocks and B's planes. The stages are followed in
// shared memory by B of all stages of a tile if KEPT is set, by the consumer warps' buffers, and by the barriers.

constexpr int kRowSlabBytes = kBlockRows * 16 + PAD, kStepBytes = kSlabs * kRowSlabBytes;  // of a block of A
// The sizes of B's slabs are macros, not constants, since the span of a convolution may be known only at run time.
#define COLUMN_SLAB_BYTES (SPAN * 16 + PAD)
#define COLUMN_PLANE_BYTES (kSlabs * COLUMN_SLAB_BYTES)
static_assert(PLANES == 1 || (PLANES % DEPTH == 0 && SPAN == TILE_N), "steps share a plane, or have one each, or one for each tap");

struct Pipeline {
    char* memory;
    __device__ __forceinline__ char* stage(int slot) const { return memory + slot * STAGE_BYTES; }
    __device__ __forceinline__ char* columns(int slot, int index) const {
        return KEPT ? stage(STAGES) + index * WEIGHT_BYTES : stage(slot) + STAGE_A_BYTES;
    }
    __device__ __forceinline__ char* buffer(int warp) const {
        return stage(STAGES) + KEPT_STAGES * WEIGHT_BYTES + warp * BUFFER_BYTES;
    }
    __device__ __forceinline__ Mbarrier* full(int slot) const { return reinterpret_cast<Mbarrier*>(buffer(4 * CONSUMERS)) + slot; }
    __device__ __forceinline__ Mbarrier* empty(int slot) const { return full(STAGES) + slot; }
    __device__ __forceinline__ Mbarrier* kept(int index) const { return empty(STAGES) + index; }  // for B of a stage

    // initialise initialises the barriers in one thread; the other threads wait for it at a barrier. Each warp that
    // reads a stage releases it: with ping-pong the four warps of one consumer, otherwise the warps of all consumers.
    __device__ __forceinline__ void initialise() const {
        for (int slot = 0; slot < STAGES; ++slot) {
            mbarrier_init(full(slot), kFilling);
            mbarrier_init(empty(slot), CLUSTER * (ARRANGEMENT == pingpong ? 4 : 4 * CONSUMERS));
        }
        for (int i = 0; i < KEPT_STAGES; ++i) mbarrier_init(kept(i), 1);
        publish_to_async_proxy();
    }
    // release must be called by all lanes of a warp that has read a stage.
    __device__ __forceinline__ void release(int slot) const {
        const int lane = threadIdx.x % 32;
        if (CLUSTER > 1 && lane < CLUSTER) mbarrier_arrive_at(empty(slot), lane);
        if (CLUSTER == 1 && lane == 0) mbarrier_arrive(empty(slot));
    }
};

// Turn counts stages through all tiles; the parity of a slot's barriers alternates from turn to turn.
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

// SlabProducts multiplies operands in slabs (slab_operands.cuh). start starts the products of one stage; the consumer's
// rows begin at block `block`, and its columns at column `column` of the tile.
struct SlabProducts {
    static constexpr bool kFromRegisters = false;  // whether rows are operands in registers

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

    // multiply starts the products of a step in one phase: 64 rows of A by COLUMNS columns of B. The parts of floats
    // are multiplied in phases, the smallest parts first, while the sums are still small.
    static constexpr int kPhases = kPartCount;
    __device__ __forceinline__ static void multiply(Sums& sums, int phase, const Slabs& rows, const Slabs& columns) {
        if constexpr (kOfParts == one_tf32) {  // the lower, then the upper half of the depth
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

// Of the r-th block of 64 rows of a tile, a warp holds 16 rows; warp_row returns the first of them. Products with rows
// from shared memory assign 16 neighbouring rows of 64 to each warp. If rows come from registers, any assignment is
// possible, and each warp gets adjacent rows of the tile, so that it stores more rows together.
template <class Products>
__device__ __forceinline__ int warp_row(int block, int r) {
    const int warp = threadIdx.x / 32 % 4;
    return block * kBlockRows + (Products::kFromRegisters ? (warp * ROW_BLOCKS + r) * 16 : r * kBlockRows + warp * 16);
}

template <class Work, class Products>
__device__ __forceinline__ void multiply_stages(Sums (&sums)[ROW_BLOCKS], const Pipeline& pipeline, Turn& turn, const Stages& stages,
                                                int block, int column) {
    int last = 0;
    // ptxas moves the zeros of sums between the products of a short, unrolled loop, which serialises these products,
    // unless an instruction before the products has the sums as operands.
    if constexpr (Work::kStages < 8) {
#pragma unroll
        for (int r = 0; r < ROW_BLOCKS; ++r) wgmma_wait(sums[r]);
    }
    for (int s = stages.first; s < stages.end; ++s, turn.next()) {
        mbarrier_wait(pipeline.full(turn.slot), turn.parity);
        if (KEPT) mbarrier_wait(pipeline.kept(s), 0);
        Products::template start<Work>(sums, pipeline.stage(turn.slot), pipeline.columns(turn.slot, s), s, block, column);
        wgmma_commit();
        wgmma_wait_groups<1>();  // the products of the stage before have read it
        if (s > stages.first) pipeline.release(last);
        last = turn.slot;
    }
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; ++r) wgmma_wait(sums[r]);
    pipeline.release(last);
}

template <class Work, class Products>
constexpr int kTogether = Work::Output::kMixed == 0 && Products::kFromRegisters && ROW_BLOCKS > 1 ? 2 : 1;

// fetch_tile fetches the epilogue's elements for a warp's part of a tile, if the block computes the tile's last stages.
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
        if constexpr (kLoads<typename Work::Output>) {  // before its own products, or a tile ahead
            if (ARRANGEMENT == pingpong || count == 0) fetch_tile<Work, Products>(taken, given, block, column);
            if (ARRANGEMENT != pingpong && ahead.more()) fetch_tile<Work, Products>(ahead, given, block, column);
        }
        // In ping-pong, a consumer waits until the other one has read its stages: the parity of a barrier cannot
        // distinguish a turn from the one after the next.
        if (ARRANGEMENT == pingpong && count > 0) named_barrier_wait(kPingPong + consumer, 256);
        Sums sums[ROW_BLOCKS] = {};
        if (kMovesSums<Work::kStages>) {
            // Two consumers of a tile add their sums to their other sums at different times, so that one of them
            // multiplies meanwhile.
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

// slab_gemm is the main function of a kernel. Producer has two members: produce<Work>(pipeline, operands), and
// Products, which starts the products of a stage in the producer's layout.
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
    if (CLUSTER > 1) meet_cluster();  // other blocks may still arrive at this block's barriers
}
