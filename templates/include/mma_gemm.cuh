// mma_gemm.cuh: the tensor-core mainloop for GPUs without warpgroup products, from sm_80 on: D = A * B by mma.sync.
// packed_gemm.cuh uses this mainloop for packed operands on GPUs before Hopper. Other kernels call mma_gemm with a
// Fetch of their own. Kernels with their own Fetch may have PAD bytes after each slab, so that copies into several
// slabs avoid bank conflicts. With EXACT_OPERANDS, floats are rounded when fragments are loaded.
//
// All warps of a block do the same work. Each warp starts its share of the copies that fill a pipeline stage in shared
// memory, by cp.async with 16 bytes per thread, contiguous across threads. When a stage has arrived, each warp loads
// its fragments by ldmatrix, and multiplies. Eight rows of a slab are 128 contiguous bytes, so there are no bank
// conflicts wherever a range of columns begins. Fragments for the next products are loaded before the current products
// start, across stages, too; the block synchronises once per stage. After the last stage, the sums use the pipeline's
// shared memory as store buffers. A block computes one tile; another block on the same multiprocessor multiplies while
// this one is in its epilogue.
//
// The tunables of a kernel that includes this file, as macros:
//
//   WARPS_M, WARPS_N: warps of a block along the rows and the columns of its tile.
//   ROW_BLOCKS:       blocks of 16 rows per warp.
//   COLUMNS:          columns per warp. ROW_BLOCKS * COLUMNS / 2 registers hold sums, or twice as many
//                     (kMovesSums); larger blocks of sums read less shared memory per product.
//   DEPTH:            steps of k in a stage: more steps need fewer barriers, and in a convolution fewer
//                     copies, but leave room for fewer stages.
//   STAGES:           stages of the pipeline: STAGES - 1 are requested ahead.
//   SPLITS:           blocks that share a tile's k (split_k.cuh), if there are few tiles.
//
// op.yaml derives TILE_M, TILE_N, SPAN, PLANES, THREADS from the tunables, and these sizes in bytes of the shared
// memory that it allocates: PAD after a slab; STAGE_BYTES per stage, of which A's rows take STAGE_A_BYTES;
// BUFFER_BYTES per warp. gemm_tiles.cuh describes the class Work of a kernel.
#pragma once
#include "async_copy.cuh"
#include "dependent_launch.cuh"
#include "gemm_tiles.cuh"
#include "ldmatrix.cuh"
#include "mma.cuh"

constexpr int kRows = 16 * ROW_BLOCKS;  // of a warp
static_assert(kBlockRows % kRows == 0 && COLUMNS % kPiece == 0, "a warp has whole fragments of a block of A");

// ---- The pipeline: STAGES stages in shared memory, each with A's blocks and B's planes in the layout that they have
// in memory.

#ifndef EXACT_OPERANDS
#define EXACT_OPERANDS 0
#endif
constexpr int kRowSlabBytes = kBlockRows * 16 + PAD, kSlabBytes = SPAN * 16 + PAD;  // of A and of B
constexpr int kStepBytes = kSlabs * kRowSlabBytes, kPlaneBytes = kSlabs * kSlabBytes;
static_assert(PLANES == 1 || (PLANES == DEPTH && SPAN == TILE_N), "steps share a plane, or have one each");

// A step has several phases, each of which multiplies a pair of A's slabs by a pair of B's slabs; a pair is loaded
// while another is multiplied. In TF32 each pair of slabs contains half of the step's elements of k. With operands
// split into two parts, pair 0 is the high part and pair 1 the low part, and from phase to phase one of the two pairs
// changes.
static_assert(kPartCount <= 2, "a step has two pairs at most");
constexpr int kPhases = kOfParts == one_tf32 ? 2 : kPartCount == 2 ? 3 : 1;
__host__ __device__ __forceinline__ constexpr int row_pair(int phase) {
    return kOfParts == one_tf32 ? phase : kPartCount == 2 && phase == 0;
}
__host__ __device__ __forceinline__ constexpr int column_pair(int phase) {
    return kOfParts == one_tf32 ? phase : kPartCount == 2 && phase == 2;
}
constexpr int kStagePhases = DEPTH * kPhases;
// If a step has only one pair, the pairs of even and odd steps alternate between two sets of registers. If a stage has
// an odd number of steps, the next stage's first pair would go to the registers of the last pair, which is still in
// use.
constexpr bool kLoadsLast = kPhases == 1 && DEPTH % 2 == 1;

// Fetch starts the copies of stages: a share in each phase of a stage, but none in the last phase if the stage
// has several phases. In a round each thread copies 16 bytes, either of a block of A, or of columns in some of B's
// slabs.
template <class Work>
struct Fetch {
    static constexpr int kInBlock = DEPTH * kBlockStepBytes, kRoundBytes = THREADS * 16, kRoundsA = STAGE_A_BYTES / kRoundBytes;
    static constexpr int kWide = SPAN < THREADS ? (SPAN + 31) / 32 * 32 : THREADS, kAcross = THREADS / kWide;  // columns, slabs
    static constexpr int kWidths = (SPAN + kWide - 1) / kWide, kRoundsB = (kSlabs * PLANES + kAcross - 1) / kAcross * kWidths;
    static constexpr int kRounds = kRoundsA + kRoundsB, kShares = kStagePhases > 1 ? kStagePhases - 1 : 1;
    __device__ __forceinline__ static long long slab_bytes() { return Work::columns() * 16ll; }  // in memory
    static_assert(EXACT_OPERANDS || kInBlock % kRoundBytes == 0, "a round's copies are of one block");  // those have a Fetch of their own

    const PackedOperands& operands;
    const Tile tile;
    const int slab, column;  // of the thread's copies of B

    __device__ __forceinline__ Fetch(const PackedOperands& operands, const Tile& tile)
        : operands(operands), tile(tile), slab(threadIdx.x / kWide), column(threadIdx.x % kWide) {}
    __device__ __forceinline__ const char* at(int s) const { return operands.columns<Work>(tile, s) + slab * slab_bytes() + column * 16; }
    __device__ __forceinline__ void share(char* stage, int s, const char* columns, int part) const {
        const long long rows = static_cast<long long>(s) * kInBlock + threadIdx.x * 16;
#pragma unroll
        for (int round = 0; round < kRounds; ++round) {  // constant bounds, or the loop is not unrolled
            if (round * kShares / kRounds != part) continue;
            if (round < kRoundsA) {
                const int done = round * kRoundBytes;
                async_copy<16>(stage + done + threadIdx.x * 16, operands.rows<Work>(tile, done / kInBlock) + rows + done % kInBlock);
            } else {
                const int slabs = (round - kRoundsA) / kWidths * kAcross, wide = (round - kRoundsA) % kWidths * kWide;
                if ((THREADS % kWide == 0 || slab < kAcross) && (kSlabs * PLANES % kAcross == 0 || slabs + slab < kSlabs * PLANES) &&
                    (SPAN % kWide == 0 || wide + column < SPAN))
                    async_copy<16>(stage + STAGE_A_BYTES + (slabs + slab) * kSlabBytes + (wide + column) * 16,
                                   columns + slabs * slab_bytes() + wide * 16);
            }
        }
    }
    __device__ __forceinline__ void all(char* stage, int s) const {
#pragma unroll
        for (int part = 0; part < kShares; ++part) share(stage, s, at(s), part);
    }
};

// ---- The products of a warp.

// Fragments are pairs of slabs in registers, for 16 rows and for 16 columns. Each pair has its own registers; if a step
// has only one pair, even and odd steps have their own registers.
__host__ __device__ __forceinline__ constexpr int place(int step, int pair) { return kPhases == 1 ? step % 2 : pair; }

struct Fragments {
    unsigned a[2][ROW_BLOCKS][4], b[2][COLUMNS / 16][4];

    __device__ __forceinline__ static void load(unsigned (&to)[4], const char* from) {
        load_matrices(to, from);
        if constexpr (EXACT_OPERANDS && kOfParts == one_tf32)
#pragma unroll
            for (int i = 0; i < 4; ++i) to[i] = round_to_tf32(__uint_as_float(to[i]));
    }
    __device__ __forceinline__ void load_rows(int to, int pair, const char* step) {
        const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 / WARPS_N * kRows;
        const char* const first = step + warp_row / kBlockRows * DEPTH * kStepBytes + (2 * pair + lane / 16) * kRowSlabBytes +
                                  (warp_row % kBlockRows + lane % 16) * 16;
#pragma unroll
        for (int i = 0; i < ROW_BLOCKS; ++i) load(a[to][i], first + i * 256);
    }
    __device__ __forceinline__ void load_columns(int to, int pair, const char* step) {
        const int lane = threadIdx.x % 32, warp_column = threadIdx.x / 32 % WARPS_N * COLUMNS;
        const char* const first = step + (2 * pair + lane / 8 % 2) * kSlabBytes + (warp_column + lane / 16 * 8 + lane % 8) * 16;
#pragma unroll
        for (int i = 0; i < COLUMNS / 16; ++i) load(b[to][i], first + i * 256);
    }
    // load loads the pair of slabs that a phase multiplies and the phase before did not.
    template <class Work>
    __device__ __forceinline__ void load(const char* stage, int step, int phase) {
        const int before = (phase + kPhases - 1) % kPhases;
        const int row = row_pair(phase), column = column_pair(phase);
        if (kPhases == 1 || row != row_pair(before)) load_rows(place(step, row), row, stage + step * kStepBytes);
        if (kPhases == 1 || column != column_pair(before))
            load_columns(place(step, column), column, stage + STAGE_A_BYTES + (PLANES > 1 ? step * kPlaneBytes : Work::step_shift(step) * 16));
    }
    __device__ __forceinline__ void multiply(Sums (&sums)[ROW_BLOCKS], int step, int phase) const {
        const int row = place(step, row_pair(phase)), column = place(step, column_pair(phase));
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) {
            const unsigned* const columns = &b[column][j / 2][j % 2 * 2];
            const unsigned eight[2] = {columns[0], columns[1]};
#pragma unroll
            for (int i = 0; i < ROW_BLOCKS; ++i) {
                float(&d)[4] = reinterpret_cast<float(&)[4]>(sums[i][4 * j]);
                if (kOfParts == one_tf32)
                    mma_m16n8k8_tf32(d, a[row][i], eight);
                else if (!kAreBf16)
                    mma_m16n8k16_fp16(d, a[row][i], eight);
                else
                    mma_m16n8k16_bf16(d, a[row][i], eight);
            }
        }
    }
};

template <class Work, class Fetching>
__device__ __forceinline__ void multiply_stages(Sums (&sums)[ROW_BLOCKS], char* memory, const Fetching& fetch, int first, int end) {
    // Each stage's copies are one group; after the last stage, groups are empty.
#pragma unroll
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) {
        if (first + ahead < end) fetch.all(memory + ahead * STAGE_BYTES, first + ahead);
        async_copy_commit();
    }
    async_copy_wait<STAGES - 2>();
    __syncthreads();

    Fragments fragments;
    fragments.load<Work>(memory, 0, 0);
    Sums some[ROW_BLOCKS] = {};
    int slot = 0, emptied = STAGES - 1;
    for (int s = first; s < end; ++s) {
        const int next = slot + 1 == STAGES ? 0 : slot + 1, ahead = s + STAGES - 1;
        const auto at = fetch.at(ahead < end ? ahead : s);
#pragma unroll
        for (int p = 0; p < kStagePhases; ++p) {
            if (p + 1 < kStagePhases) {
                fragments.load<Work>(memory + slot * STAGE_BYTES, (p + 1) / kPhases, (p + 1) % kPhases);
                if (ahead < end) fetch.share(memory + emptied * STAGE_BYTES, ahead, at, p);
            } else {  // all fragments of the stage are loaded, so it may be refilled
                if (kStagePhases == 1 && ahead < end) fetch.share(memory + emptied * STAGE_BYTES, ahead, at, 0);
                async_copy_commit();
                async_copy_wait<STAGES - 2>();
                __syncthreads();
                if (!kLoadsLast && s + 1 < end) fragments.load<Work>(memory + next * STAGE_BYTES, 0, 0);
            }
            fragments.multiply(kMovesSums<Work::kStages> ? some : sums, p / kPhases, p % kPhases);
            if (kLoadsLast && p + 1 == kStagePhases && s + 1 < end) fragments.load<Work>(memory + next * STAGE_BYTES, 0, 0);
        }
        if (kMovesSums<Work::kStages> && (s % kChunk == kChunk - 1 || s + 1 == end)) move_sums(some, sums);
        emptied = slot;
        slot = next;
    }
}

// ---- The kernel.

// mma_gemm is the main function of a kernel. The template parameter Fetching is a class with the members of Fetch,
// constructed from operands and a tile.
template <class Work, class Fetching, class Stored, class Plain = int>
__device__ __forceinline__ void mma_gemm(char* memory, const typename Work::Operands& operands, typename Work::Output::Given given, Stored* y,
                                         const Plain& plain = 0) {
    wait_for_launches();
    const Tile tile = Tiles<Work>::at(blockIdx.x);
    const Stages stages = Tiles<Work>::stages(blockIdx.x);
    const int warp = threadIdx.x / 32, row = tile.m * TILE_M + warp / WARPS_N * kRows;
    const int column = tile.n * TILE_N + warp % WARPS_N * COLUMNS;
    if constexpr (kLoads<typename Work::Output>)
        for (int i = 0; i < ROW_BLOCKS; ++i) fetch<1>(typename Work::Output(tile, given), row + 16 * i, column);
    Sums sums[ROW_BLOCKS] = {};
    multiply_stages<Work>(sums, memory, Fetching(operands, tile), stages.first, stages.end);

    // The block's last barrier was after the last fragments were loaded and the last copies had arrived, so the
    // pipeline's memory is free.
    const typename Work::Output output(tile, given);
    Stored* const sums_of_split = y + tile.split * Work::outputs();
#pragma unroll
    for (int i = 0; i < ROW_BLOCKS; ++i) {
        if constexpr (Work::Output::kMixed == kWholeRows && kLoads<typename Work::Output>)
            store_finished_lines<false>(sums[i], output, sums_of_split, row + 16 * i, column);
        else if constexpr (Work::Output::kMixed == kWholeRows)
            store_lines(sums[i], output, sums_of_split, row + 16 * i, column);
        else
            store_sums(sums[i], output, sums_of_split, reinterpret_cast<float*>(memory + warp * BUFFER_BYTES), row + 16 * i, column);
    }
    if constexpr (Work::kMasked && SPLITS == 1)
        if (__any_sync(0xffffffffu, !all_finite(sums)))
#pragma unroll 1
            for (int i = 0; i < ROW_BLOCKS; ++i) mend(output, plain, y, row + 16 * i, column);
}

template <class Work, class Stored, class Plain = int>
__device__ __forceinline__ void packed_gemm(char* memory, const PackedOperands& operands, typename Work::Output::Given given, Stored* y,
                                            const Plain& plain = 0) {
    mma_gemm<Work, Fetch<Work>>(memory, operands, given, y, plain);
}
