// warpgroup_conv.cuh: what convolutions on Hopper's warpgroup products share: the
// operands' form, the products, the stage and the stores. A kernel that includes
// this file adds where input lies in shared memory and in which order it is worked
// through; of its macros, these are used here:
//
//   COLUMNS, PIECES  neighbouring positions of the virtual plane that a product
//                    takes, and such pieces in a tile
//   ALIGNMENT        of runs of the output, in floats: 8 for whole 32-byte sectors
//   HELPER_WARPS     warps that do not multiply
//   STORE_WARPS      2 of them store; 0: the multiplying warps do
//   TAKE_TURNS       1: one warpgroup multiplies while the other fills its stage; 0: as
//                    it comes
//
// Warps have three trades, and meet at barriers only:
//
//   multipliers  two warpgroups of 64 output channels each: weights in registers
//                for good, sums in registers, then into their half of the stage
//   loaders      device memory -> shared memory, made operands there
//   storers      a warp for each half: the copy engine carries it, a run of the
//                output a channel, while the next tile is multiplied. Without them
//                each multiplying warp speaks for its own 16 channels, when the next
//                tile's products are under way
#pragma once
#include "async_copy.cuh"
#include "bf16.cuh"
#include "bulk_copy.cuh"
#include "named_barrier.cuh"
#include "tf32.cuh"
#include "virtual_plane.cuh"
#include "wgmma.cuh"

static_assert(STRIDE_H == 1 && STRIDE_W == 1, "neighbouring outputs must read neighbouring inputs");
static_assert(kInGroup <= 16, "a patch holds 16 channels");
static_assert(kOutPlane % 4 == 0, "the copy engine wants 16-byte aligned runs");

constexpr int kTileM = 128;                           // output channels of a block
constexpr int kTilesM = ceil_div(kOutGroup, kTileM);  // in a group
constexpr int kPositions = COLUMNS * PIECES;          // of a tile, in the virtual plane
constexpr int kSpan = kPositions + (KERNEL_W - 1) * DILATION_W;  // of the input that one tap row reads

// Who is who. Registers are what an SM's 65536 allow.
constexpr int kMultipliers = 256;
constexpr int kLoaders = 32 * (HELPER_WARPS - STORE_WARPS);
constexpr int kThreads = kMultipliers + 32 * HELPER_WARPS;
constexpr int kHelperRegisters = 40;
constexpr int kMultiplierRegisters = kThreads == 384 ? 232 : 216;

// Named barriers, two of each; a kernel's own begin at kFreeBarrier.
constexpr int kStageFull = 1, kStageFree = 3, kTurn = 5, kFreeBarrier = 7;
constexpr int kStageThreads = 128 + 32;

// ---- Patches: pixels side by side, in four slabs of 16 bytes a pixel, which is the
// order in which products take columns: a step of one pixel is a step of 16 bytes.
//   MATH_TF32 = 1: four slabs of four channels, rounded to nearest, ties away.
//   MATH_TF32 = 0: two slabs of eight bf16 each for the high parts, two for the
//   low ones; three products of parts give fp32 accuracy.

// Eight channels of a pixel are two vectors of 16 bytes, kApart slabs from each
// other: as they arrive, four channels each; as operands, TF32's four channels
// each, or bf16's high and low parts of all eight. So a thread converts in place
// what it copied itself.
constexpr int kApart = MATH_TF32 ? 1 : 2;
template <int Pixels>
__device__ __forceinline__ char* vectors_at(char* patch, int pixel, int half) {
    return patch + (half * (MATH_TF32 ? 2 : 1) * Pixels + pixel) * 16;
}

// copy_pixel starts copying a pixel's channels, `from` on, or zeros. Neighbouring
// threads take neighbouring pixels, 4 bytes each: a warp's copies then are one
// request of 128 bytes. (Wider ones would have to be scattered, which makes each a
// request of its own, and requests are what the L2 cache runs out of.)
template <int Pixels>
__device__ __forceinline__ void copy_pixel(char* patch, int pixel, const float* from, bool inside) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        char* to = vectors_at<Pixels>(patch, pixel, i / 8) + i % 8 / 4 * kApart * Pixels * 16 + i % 4 * 4;
        async_copy<4>(to, from, inside && i < kInGroup);
        if (i + 1 < kInGroup) from += kInPlane;
    }
}

// convert_patch makes operands of what this thread copied.
template <int Pixels>
__device__ __forceinline__ void convert_patch(char* patch, int thread) {
#pragma unroll 2
    for (int pixel = thread; pixel < Pixels; pixel += kLoaders) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint4* const first = reinterpret_cast<uint4*>(vectors_at<Pixels>(patch, pixel, half));
            uint4* const second = first + kApart * Pixels;
            const float4 a = *reinterpret_cast<const float4*>(first), b = *reinterpret_cast<const float4*>(second);
            uint4 u, v;
#if MATH_TF32
            u = make_uint4(round_to_tf32(a.x), round_to_tf32(a.y), round_to_tf32(a.z), round_to_tf32(a.w));
            v = make_uint4(round_to_tf32(b.x), round_to_tf32(b.y), round_to_tf32(b.z), round_to_tf32(b.w));
#else
            split_bf16x2(a.x, a.y, u.x, v.x);
            split_bf16x2(a.z, a.w, u.y, v.y);
            split_bf16x2(b.x, b.y, u.z, v.z);
            split_bf16x2(b.z, b.w, u.w, v.w);
#endif
            *first = u;
            *second = v;
        }
    }
}

// ---- Rows of weights, sums and stages are channels in an order of their own: of
// 16, the even ones come first. A lane's two rows are neighbouring channels then,
// and the rows that a warp writes at a time are all even or all odd: planes whose
// runs begin at the same place of a sector, and so hit banks that differ.
__device__ __forceinline__ int row_of(int channel) { return channel / 16 * 16 + channel % 16 / 2 + channel % 2 * 8; }

// Weights of 16 rows, one tap and 16 channels, as products take them: TF32's first
// and last 8 channels, or bf16's high and low parts of all 16.
struct WeightFragment {
    unsigned first[4], second[4];
};

__device__ __forceinline__ float weight_at(const float* weights, int out, int channel, int tap) {
    return out < kOutGroup && channel < kInGroup
               ? __ldg(weights + (static_cast<long long>(out) * kInGroup + channel) * kTaps + tap)
               : 0.0f;
}

__device__ __forceinline__ WeightFragment load_weights(const float* weights, int first_out, int tap, int lane) {
    WeightFragment w;
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // rows g, g+8, g, g+8; the lower and the upper slab
        const int out = first_out + lane / 4 * 2 + i % 2;
#if MATH_TF32
        w.first[i] = round_to_tf32(weight_at(weights, out, lane % 4 + i / 2 * 4, tap));
        w.second[i] = round_to_tf32(weight_at(weights, out, lane % 4 + i / 2 * 4 + 8, tap));
#else
        const int channel = lane % 4 * 2 + i / 2 * 8;
        split_bf16x2(weight_at(weights, out, channel, tap), weight_at(weights, out, channel + 1, tap), w.first[i],
                     w.second[i]);
#endif
    }
    return w;
}

// multiply starts all products of a tile, piece by piece; rows are the operands of
// each tap row's first position, and every tap of it is a constant further on.
// Slabs 0 and 1 are TF32's first 8 channels or bf16's high parts.
template <int Pixels>
__device__ __forceinline__ void multiply(float (&sums)[PIECES][COLUMNS / 2], const WeightFragment (&weights)[kTaps],
                                         const char* const (&rows)[KERNEL_H]) {
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
#pragma unroll
        for (int tap = 0; tap < kTaps; ++tap) {
            const int position = tap % KERNEL_W * DILATION_W + piece * COLUMNS;
            const Slabs low = {rows[tap / KERNEL_W] + position * 16, Pixels * 16}, high = low.moved(2 * Pixels * 16);
#if MATH_TF32
            wgmma_tf32<COLUMNS>(sums[piece], weights[tap].first, low, tap > 0);
            wgmma_tf32<COLUMNS>(sums[piece], weights[tap].second, high, true);
#else
            wgmma_bf16<COLUMNS>(sums[piece], weights[tap].second, low, tap > 0);
            wgmma_bf16<COLUMNS>(sums[piece], weights[tap].first, high, true);
            wgmma_bf16<COLUMNS>(sums[piece], weights[tap].first, low, true);
#endif
        }
        wgmma_commit();
    }
}

// ---- Runs and the stage. A run is what a tile makes of a channel's plane: its
// outputs from first up to end, both rounded down to where sectors begin in memory.
struct Run {
    int image, first, end;
};

// run_shift is how far back an output's sector begins. Planes begin anywhere in one.
__device__ __forceinline__ int run_shift(int plane, int output) {
    return (plane * (kOutPlane % ALIGNMENT) + output) & (ALIGNMENT - 1);
}

// stage_pitch is how far apart the stage's rows are for runs up to that long: 8 or 24
// banks, so that what a warp writes never collides, and a multiple of 32 bytes,
// without which the copy engine writes broken sectors.
__host__ __device__ constexpr int stage_pitch(int run) { return (run + 7) / 16 * 16 + 8; }

// plus adds the bias, where there is one.
__device__ __forceinline__ float plus(float sum, float offset) { return BIAS ? sum + offset : sum; }

// write_piece puts a lane's sums of a piece into its two rows of the stage. places
// says where: sure(first) whether eight positions from first on all belong into it,
// at(r, position) the place of a position in row r, negative if it has none.
template <int Pitch, class Places>
__device__ __forceinline__ void write_piece(float* stage, const float (&sums)[COLUMNS / 2], int piece, int row,
                                            int lane, const float (&offsets)[2], const Places& places) {
    constexpr bool pairs = W_OUT % 2 == 0 && kRowJump % 2 == 0;  // both or neither are outputs, and aligned
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; ++j) {
        const float* s = &sums[4 * j];
        const int first = piece * COLUMNS + 8 * j;
#pragma unroll
        for (int i = 0; i < 2; i += pairs ? 2 : 1) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int place = places.at(r, first + lane % 4 * 2 + i);
                if (!places.sure(first) && place < 0) continue;
                float* to = stage + (row + 8 * r) * Pitch + place;
                const float value = plus(s[2 * r + i], offsets[r]);
                if (pairs)
                    *reinterpret_cast<float2*>(to) = make_float2(value, plus(s[2 * r + 1], offsets[r]));
                else
                    *to = value;
            }
        }
    }
}

// A Work gives a multiplying warpgroup its tiles:
//   more(), next(), last()  whether there is a tile, on to the next, whether it is the last
//   run()            what it makes
//   wait_input()     returns when its input is there
//   tap_row(r)       where its first position reads in tap row r
//   release_input()  tells that input which later tiles do not read may be overwritten
//   inner()          whether it is of the kind with the fewer exceptions
//   places<Inner>(shifts)  the places of its positions, for write_piece, in two rows whose
//                    runs begin that far back
//
// fill_stage puts a tile's sums into the stage, each piece as soon as it is there.
template <int Pitch, int Piece = 0, class Places, class Work>
__device__ __forceinline__ void fill_stage(float* stage, float (&sums)[PIECES][COLUMNS / 2], int row, int lane,
                                           const float (&offsets)[2], const Places& places, const Work& work,
                                           int half) {
    wgmma_wait<PIECES - 1 - Piece>(sums[Piece]);
    if (Piece == PIECES - 1) {
        if (TAKE_TURNS && (half == 0 || !work.last())) named_barrier_arrive(kTurn + 1 - half, kMultipliers);
        work.release_input();
    }
    write_piece<Pitch>(stage, sums[Piece], Piece, row, lane, offsets, places);
    if constexpr (Piece + 1 < PIECES) fill_stage<Pitch, Piece + 1>(stage, sums, row, lane, offsets, places, work, half);
}

// store_runs tells the copy engine what to store of Rows rows of the stage, run by
// run, for up to that many planes from `plane` on, and ends the lane's group. Lanes
// share the runs, so that their addresses are worked out at one time: a single lane
// takes longer than a tile's products.
template <int Pitch, int Rows>
__device__ __forceinline__ void store_runs(float* y, const float* stage, const Run& run, int plane, int planes) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < Rows; i += 32) {
        const int channel = lane + i, shift = run_shift(plane + channel, run.first);
        const int first = run.first - shift, end = run.end - run_shift(plane + channel, run.end);
        const int from = first > 0 ? first : 0, to = smaller(end, kOutPlane);
        if (channel < smaller(planes, Rows) && from < to)
            bulk_store(y + static_cast<long long>(plane + channel) * kOutPlane + from,
                       stage + row_of(channel) * Pitch + from - first, 4 * (to - from));
    }
    bulk_store_commit();
}

// OwnRuns are the runs of a tile that a multiplying warp has in the stage, where no
// others store them: of 16 channels, of which `planes` exist.
template <int Pitch>
struct OwnRuns {
    const float* stage;
    int planes, plane;
    Run run;
    __device__ __forceinline__ OwnRuns(const float* stage, int planes)
        : stage(stage), planes(planes), plane(0), run({0, 0, 0}) {}

    // staged takes note of what the stage holds now.
    __device__ __forceinline__ void staged(const Run& its, int first_plane) {
        __syncwarp();
        run = its;
        plane = first_plane;
    }
    // store returns when the stage is free again.
    __device__ __forceinline__ void store(float* y) const {
        store_runs<Pitch, 16>(y, stage, run, plane, planes);
        bulk_store_wait_read();
        __syncwarp();
    }
};

// multiply_tiles is what a multiplying warpgroup does, for 64 channels: from first_out
// on in the group, from channel on of all. Patches are of Pixels pixels.
template <int Pixels, int Pitch, class Work>
__device__ __forceinline__ void multiply_tiles(Work work, float* y, float* stage, const float* weights,
                                               const float* bias, int half, int channel, int first_out) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int row = 16 * warp + lane / 4, out = first_out + 16 * warp + lane / 4 * 2;  // of the lane's two rows
    float offsets[2] = {0.0f, 0.0f};
    if (BIAS) {
#pragma unroll
        for (int r = 0; r < 2; ++r)
            if (out + r < kOutGroup) offsets[r] = __ldg(bias + out + r);
    }
    WeightFragment kept[kTaps];
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) kept[tap] = load_weights(weights, first_out + 16 * warp, tap, lane);

    OwnRuns<Pitch> own(stage + 16 * warp * Pitch, kOutGroup - first_out - 16 * warp);
    float sums[PIECES][COLUMNS / 2];
    for (bool fresh = true; work.more(); work.next(), fresh = false) {
        work.wait_input();
        const char* rows[KERNEL_H];
#pragma unroll
        for (int r = 0; r < KERNEL_H; ++r) rows[r] = work.tap_row(r);
        if (TAKE_TURNS && (half == 1 || !fresh)) named_barrier_wait(kTurn + half, kMultipliers);
        wgmma_fence();
        multiply<Pixels>(sums, kept, rows);

        if (!fresh) {
            if (STORE_WARPS > 0)
                named_barrier_wait(kStageFree + half, kStageThreads);
            else
                own.store(y);
        }
        const Run run = work.run();
        const int plane = run.image * C_OUT + channel + 16 * warp;  // an even number of planes from the lane's rows
        const int shifts[2] = {run_shift(plane, run.first), run_shift(plane + 1, run.first)};
        if (work.inner())
            fill_stage<Pitch>(stage, sums, row, lane, offsets, work.template places<true>(shifts), work, half);
        else
            fill_stage<Pitch>(stage, sums, row, lane, offsets, work.template places<false>(shifts), work, half);
        publish_to_async_proxy();
        if (STORE_WARPS > 0)
            named_barrier_arrive(kStageFull + half, kStageThreads);
        else
            own.staged(run, plane);
    }
    if (STORE_WARPS == 0) own.store(y);
}

// store_stages is what a storing warp does, for the 64 channels from first_out on of
// the group; the Walk gives the tiles, as a Work does.
template <int Pitch, class Walk>
__device__ __forceinline__ void store_stages(Walk walk, float* y, const float* stage, int half, int channel,
                                             int first_out) {
    for (; walk.more(); walk.next()) {
        named_barrier_wait(kStageFull + half, kStageThreads);
        const Run run = walk.run();
        store_runs<Pitch, 64>(y, stage, run, run.image * C_OUT + channel, kOutGroup - first_out);
        bulk_store_wait_read();
        __syncwarp();
        if (!walk.last()) named_barrier_arrive(kStageFree + half, kStageThreads);
    }
}
