// conv2d on Hopper's warpgroup products, as an implicit matrix product, for up to
// 16 input channels (sm_90a): made for convolutions that write much more than
// they read, whose limit is the output's way to memory.
//
// The idea is that of implicit_gemm.cu: input lies in shared memory once, and a
// tap is a constant further on. Here the products read it there themselves, in
// the background, and everything else is somebody else's work:
//
//   loaders      LOAD_WARPS warps: device memory -> shared memory, rounded or split
//                there, a tile ahead of the products (two patches)
//   multipliers  two warpgroups of 64 output channels each: weights in registers
//                for good, sums in registers, then into their half of the stage
//   storers      a warp for each half: the copy engine carries it, a run of the
//                output a channel, while the next tile is multiplied
//
// They meet at named barriers only: a patch is full or empty, a half stage is full
// or free, and each side may be ahead of the other by what lies between them.
//
// The way of the data.
//   1. A patch is KERNEL_H stretches of the virtual plane (virtual_plane.cuh), as
//      slabs: 16 bytes a pixel, side by side, which is the order in which products
//      take columns, so that a step of one pixel is a step of 16 bytes.
//        MATH_TF32 = 1: four slabs of four channels, rounded to nearest, ties away.
//        MATH_TF32 = 0: two slabs of eight bf16 each for the high parts, two for
//        the low ones; three products of parts give fp32 accuracy.
//   2. COLUMNS * PIECES neighbouring positions of the virtual plane are multiplied;
//      those behind a row's end are nobody's output and are left out of the stage.
//   3. A tile is a run of kTileP pixels of the flat output plane, so that every run
//      is long and aligned whatever the width.
//
// What the tunables trade:
//   COLUMNS, PIECES  positions a product and a tile: longer runs and less halo
//                    against shared memory and registers
//   PATCHES          3: loads are asked for a tile earlier; 2: room for longer runs
//   LOAD_WARPS       more hands; above 2 they cost the multipliers registers
//   LOAD_WIDTH       floats a copy: 4 where rows are 16-byte aligned
//   TILE_RANGES      1: a block's tiles are neighbours; 0: blocks take turns
#ifndef N
#define N 16
#define C 16
#define H 1024
#define W 1024
#define C_OUT 128
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 0
#define PADDING_W 0
#define DILATION_H 1
#define DILATION_W 1
#define GROUPS 1
#define BIAS 0
#define H_OUT 1022
#define W_OUT 1022
#define MATH_TF32 1
#endif
#ifndef COLUMNS
#define COLUMNS 120
#define PIECES 2
#define PATCHES 2
#define LOAD_WIDTH 4
#define LOAD_WARPS 2
#define TILE_RANGES 0
#endif

#include "async_copy.cuh"
#include "bf16.cuh"
#include "bulk_copy.cuh"
#include "named_barrier.cuh"
#include "tf32.cuh"
#include "virtual_plane.cuh"
#include "wgmma.cuh"

namespace {

// The tile: kTileP output pixels, among kPositions of the virtual plane.
constexpr int kTileM = 128;
constexpr int kPositions = COLUMNS * PIECES;
constexpr int kTileP = (kPositions - ceil_div(kPositions, kPitch) * kRowJump) / 8 * 8;
constexpr int kTilesP = ceil_div(kOutPlane, kTileP);
constexpr int kTiles = N * kTilesP;
constexpr int kTilesM = ceil_div(kOutGroup, kTileM);  // in a group

// The patch: four slabs of kPatch pixels. Stretches that would overlap much are one.
constexpr int kReach = kPositions + (KERNEL_W - 1) * DILATION_W + LOAD_WIDTH - 1;
constexpr int kSpan = round_up(kReach, 4);
constexpr bool kMerged = kReach + kTapReach * kPitch <= KERNEL_H * kReach;
constexpr int kTapRow = kMerged ? DILATION_H * kPitch : kSpan;
constexpr int kPatch = kMerged ? round_up(kReach + kTapReach * kPitch, 4) : KERNEL_H * kSpan;
constexpr int kSlabBytes = kPatch * 16;
constexpr int kPatchBytes = 4 * kSlabBytes;

// The stage: a row a channel, 8 or 24 banks apart so that fragments do not collide.
constexpr int kStageP = kTileP + (kTileP / 8 % 2 == 0 ? 8 : 0);
constexpr int kStageFloats = 64 * kStageP;  // of one warpgroup

// Who is who, and the barriers by number.
constexpr int kMultipliers = 256;
constexpr int kLoaders = 32 * LOAD_WARPS;
constexpr int kThreads = kMultipliers + round_up(32 * (2 + LOAD_WARPS), 128);
constexpr int kHelperRegisters = kThreads == 384 ? 56 : 40;  // of the 65536 that an SM has
constexpr int kMultiplierRegisters = kThreads == 384 ? 224 : 216;
constexpr int kPatchFull = 1, kPatchEmpty = kPatchFull + PATCHES;
constexpr int kStageFull = kPatchEmpty + PATCHES, kStageFree = kStageFull + 2;
constexpr int kPatchThreads = kMultipliers + kLoaders, kStageThreads = 128 + 32;

static_assert(STRIDE_H == 1 && STRIDE_W == 1, "neighbouring outputs must read neighbouring inputs");
static_assert(kInGroup <= 16, "a patch holds 16 channels");
static_assert(kTileP > 0, "rows are too short for this tile");
static_assert(W % LOAD_WIDTH == 0, "a copy must not pass a row's end");
static_assert(kOutPlane % 4 == 0, "the copy engine wants 16-byte aligned runs");

struct Tile {
    int image;
    int first;  // pixel of the flat output plane
    int y, x;   // the same
};

__device__ __forceinline__ Tile tile_at(int index) {
    const int first = index % kTilesP * kTileP;
    return {index / kTilesP, first, first / W_OUT, first % W_OUT};
}

// The tiles of a block: neighbours, or every so-manieth.
struct TileWalk {
    int index, stride, end;
    __device__ __forceinline__ TileWalk() {
        const int share = ceil_div(kTiles, gridDim.x);
        index = TILE_RANGES ? blockIdx.x * share : blockIdx.x;
        stride = TILE_RANGES ? 1 : gridDim.x;
        end = TILE_RANGES ? smaller(kTiles, index + share) : kTiles;
    }
};

// patch_start is where the first tap of the tile's first pixel lies in the
// virtual plane; the patch begins at the aligned position at or before it.
__device__ __forceinline__ int patch_start(const Tile& tile) {
    return (tile.y - PADDING_H) * kPitch + tile.x - PADDING_W;
}
__device__ __forceinline__ int patch_lead(const Tile& tile) { return patch_start(tile) & (LOAD_WIDTH - 1); }

// A block of the patch is 4 pixels x 8 channels, in two slabs kApart from each
// other, 64 bytes of each: as it arrives, four channels in each, 16 bytes of a
// channel; as operands, 16 bytes of a pixel: TF32's four channels in each, or
// bf16's high and low parts of all eight. So a thread converts in place what it
// copied itself. Neighbouring threads take neighbouring blocks; arriving channels
// take turns in their places, so that threads do not meet at the same banks.
constexpr int kApart = MATH_TF32 ? 1 : 2;
constexpr int kBlocks = kPatch / 4;

__device__ __forceinline__ char* block_at(char* patch, int block, int half) {
    return patch + half * (MATH_TF32 ? 2 : 1) * kSlabBytes + block * 64;
}
__device__ __forceinline__ char* arrival(char* block_address, int block, int channel) {
    return block_address + channel / 4 * kApart * kSlabBytes + ((channel + block / 2) & 3) * 16;
}

// load_patch starts copying a tile's input.
__device__ __forceinline__ void load_patch(char* patch, const float* planes, const Tile& tile, int thread) {
    const int start = patch_start(tile) - patch_lead(tile);
#pragma unroll 1
    for (int block = thread; block < kBlocks; block += kLoaders) {
        const int stretch = kMerged ? 0 : block / (kSpan / 4);
        const int position = start + 4 * block + stretch * (DILATION_H * kPitch - kSpan);
#pragma unroll
        for (int part = 0; part < 4; part += LOAD_WIDTH) {
            int offset;
            const bool inside = input_offset(position + part, offset);
            const float* from = planes + (inside ? offset : 0);
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                char* to = arrival(block_at(patch, block, i / 8), block, i % 8);
                async_copy<4 * LOAD_WIDTH>(to + 4 * part, from, inside && i < kInGroup);
                if (i + 1 < kInGroup) from += kInPlane;
            }
        }
    }
}

// convert_patch makes operands of what this thread copied.
__device__ __forceinline__ void convert_patch(char* patch, int thread) {
#pragma unroll 1
    for (int block = thread; block < kBlocks; block += kLoaders) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            char* const address = block_at(patch, block, half);
            float v[8][4];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float4 channel = *reinterpret_cast<const float4*>(arrival(address, block, i));
                v[i][0] = channel.x, v[i][1] = channel.y, v[i][2] = channel.z, v[i][3] = channel.w;
            }
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                uint4 first, second;
#if MATH_TF32
                first = make_uint4(round_to_tf32(v[0][p]), round_to_tf32(v[1][p]), round_to_tf32(v[2][p]),
                                   round_to_tf32(v[3][p]));
                second = make_uint4(round_to_tf32(v[4][p]), round_to_tf32(v[5][p]), round_to_tf32(v[6][p]),
                                    round_to_tf32(v[7][p]));
#else
                split_bf16x2(v[0][p], v[1][p], first.x, second.x);
                split_bf16x2(v[2][p], v[3][p], first.y, second.y);
                split_bf16x2(v[4][p], v[5][p], first.z, second.z);
                split_bf16x2(v[6][p], v[7][p], first.w, second.w);
#endif
                *reinterpret_cast<uint4*>(address + p * 16) = first;
                *reinterpret_cast<uint4*>(address + p * 16 + kApart * kSlabBytes) = second;
            }
        }
    }
}

// load_patches is what the loading warps do: with a third patch, they ask for the
// tile after next before they convert the next.
__device__ __forceinline__ void load_patches(char* patches, const float* inputs, int thread) {
    constexpr int ahead = PATCHES - 2;
    const TileWalk walk;
    int asked = 0;
    for (int done = 0, index = walk.index; index < walk.end; ++done, index += walk.stride) {
        for (; asked <= done + ahead; ++asked) {
            const int next = walk.index + asked * walk.stride;
            if (next < walk.end) {
                const int buffer = asked % PATCHES;
                if (asked >= PATCHES) named_barrier_wait(kPatchEmpty + buffer, kPatchThreads);
                const Tile tile = tile_at(next);
                load_patch(patches + buffer * kPatchBytes,
                           inputs + tile.image * (static_cast<long long>(C) * kInPlane), tile, thread);
            }
            async_copy_commit();
        }
        async_copy_wait<ahead>();
        convert_patch(patches + done % PATCHES * kPatchBytes, thread);
        publish_to_async_proxy();
        named_barrier_arrive(kPatchFull + done % PATCHES, kPatchThreads);
    }
}

// store_stages is what a storing warp does, for the 64 channels from first_row on.
__device__ __forceinline__ void store_stages(float* y, const float* stage, int half, int group, int first_row, int lane) {
    const TileWalk walk;
    for (int index = walk.index; index < walk.end; index += walk.stride) {
        const Tile tile = tile_at(index);
        const int bytes = 4 * smaller(kTileP, kOutPlane - tile.first);
        const long long plane = static_cast<long long>(tile.image) * C_OUT + group * kOutGroup + first_row;
        named_barrier_wait(kStageFull + half, kStageThreads);
        for (int row = lane; row < 64 && first_row + row < kOutGroup; row += 32)
            bulk_store(y + (plane + row) * kOutPlane + tile.first, stage + row * kStageP, bytes);
        bulk_store_commit();
        bulk_store_wait_read();
        if (index + walk.stride < walk.end) named_barrier_arrive(kStageFree + half, kStageThreads);
    }
}

// Weights of 16 rows, one tap and 16 channels, as products take them: TF32's first
// and last 8 channels, or bf16's high and low parts of all 16.
struct WeightFragment {
    unsigned first[4], second[4];
};

__device__ __forceinline__ float weight_at(const float* weights, int row, int channel, int tap) {
    return row < kOutGroup && channel < kInGroup
               ? __ldg(weights + (static_cast<long long>(row) * kInGroup + channel) * kTaps + tap)
               : 0.0f;
}

__device__ __forceinline__ WeightFragment load_weights(const float* weights, int first_row, int tap, int lane) {
    WeightFragment w;
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // rows g, g+8, g, g+8; the lower and the upper slab
        const int row = first_row + lane / 4 + i % 2 * 8;
#if MATH_TF32
        w.first[i] = round_to_tf32(weight_at(weights, row, lane % 4 + i / 2 * 4, tap));
        w.second[i] = round_to_tf32(weight_at(weights, row, lane % 4 + i / 2 * 4 + 8, tap));
#else
        const int channel = lane % 4 * 2 + i / 2 * 8;
        split_bf16x2(weight_at(weights, row, channel, tap), weight_at(weights, row, channel + 1, tap), w.first[i],
                     w.second[i]);
#endif
    }
    return w;
}

// multiply starts all products of a tile: every tap reads the patch, a constant
// further on. Slabs 0 and 1 are TF32's first 8 channels or bf16's high parts.
__device__ __forceinline__ void multiply(float (&sums)[PIECES][COLUMNS / 2], const WeightFragment (&weights)[kTaps],
                                         const char* patch) {
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece) {
            const int position = tap / KERNEL_W * kTapRow + tap % KERNEL_W * DILATION_W + piece * COLUMNS;
            const Slabs low = {patch + position * 16, kSlabBytes}, high = low.moved(2 * kSlabBytes);
#if MATH_TF32
            wgmma_tf32<COLUMNS>(sums[piece], weights[tap].first, low, tap > 0);
            wgmma_tf32<COLUMNS>(sums[piece], weights[tap].second, high, true);
#else
            wgmma_bf16<COLUMNS>(sums[piece], weights[tap].second, low, tap > 0);
            wgmma_bf16<COLUMNS>(sums[piece], weights[tap].first, high, true);
            wgmma_bf16<COLUMNS>(sums[piece], weights[tap].first, low, true);
#endif
        }
}

// plus adds the bias, where there is one.
__device__ __forceinline__ float plus(float sum, float offset) { return BIAS ? sum + offset : sum; }

// write_stage puts a lane's sums where they belong in the stage. Where the tile
// passes a row's end, positions behind it are dropped and what follows moves up.
template <bool Passes>
__device__ __forceinline__ void write_stage(float* stage, const float (&sums)[PIECES][COLUMNS / 2], int first_column,
                                            int row, int lane, const float (&offsets)[2]) {
    constexpr bool pairs = W_OUT % 2 == 0 && kRowJump % 2 == 0;  // both or neither are outputs, and aligned
    float* const to = stage + row * kStageP;
#pragma unroll
    for (int j = 0; j < kPositions / 8; ++j) {
        const float* s = &sums[j / (COLUMNS / 8)][j % (COLUMNS / 8) * 4];
        if (!Passes && j >= kTileP / 8) continue;
#pragma unroll
        for (int i = 0; i < 2; i += pairs ? 2 : 1) {
            int pixel = 8 * j + lane % 4 * 2 + i;
            if (Passes) {
                const int column = first_column + pixel;
                const int rows = kPositions <= kPitch ? column >= kPitch : column / kPitch;
                pixel -= rows * kRowJump;
                if (column - rows * kPitch >= W_OUT || pixel >= kTileP) continue;
            }
            if (pairs) {
                *reinterpret_cast<float2*>(to + pixel) = make_float2(plus(s[0], offsets[0]), plus(s[1], offsets[0]));
                *reinterpret_cast<float2*>(to + 8 * kStageP + pixel) =
                    make_float2(plus(s[2], offsets[1]), plus(s[3], offsets[1]));
            } else {
                to[pixel] = plus(s[i], offsets[0]);
                to[8 * kStageP + pixel] = plus(s[2 + i], offsets[1]);
            }
        }
    }
}

// multiply_tiles is what a multiplying warpgroup does, for 64 channels.
__device__ __forceinline__ void multiply_tiles(const char* patches, float* stage, const float* weights, const float* bias,
                                               int half, int first_row, int warp, int lane) {
    const int row = 16 * warp + lane / 4;
    float offsets[2] = {0.0f, 0.0f};
    if (BIAS) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
            if (first_row + row + 8 * i < kOutGroup) offsets[i] = __ldg(bias + first_row + row + 8 * i);
    }
    WeightFragment kept[kTaps];
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) kept[tap] = load_weights(weights, first_row + 16 * warp, tap, lane);

    const TileWalk walk;
    int done = 0;
    float sums[PIECES][COLUMNS / 2];
    for (int index = walk.index; index < walk.end; index += walk.stride, ++done) {
        const int buffer = done % PATCHES;
        const Tile tile = tile_at(index);
        named_barrier_wait(kPatchFull + buffer, kPatchThreads);
        wgmma_fence();
        multiply(sums, kept, patches + buffer * kPatchBytes + patch_lead(tile) * 16);
        wgmma_commit();
        wgmma_wait();
        if (index + PATCHES * walk.stride < walk.end) named_barrier_arrive(kPatchEmpty + buffer, kPatchThreads);

        if (done > 0) named_barrier_wait(kStageFree + half, kStageThreads);
        if (tile.x + kTileP <= W_OUT)
            write_stage<false>(stage, sums, tile.x, row, lane, offsets);
        else
            write_stage<true>(stage, sums, tile.x, row, lane, offsets);
        publish_to_async_proxy();
        named_barrier_arrive(kStageFull + half, kStageThreads);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    conv2d_warpgroup_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                          float* __restrict__ y) {
    extern __shared__ uint4 shared[];
    char* const patches = reinterpret_cast<char*>(shared);
    float* const stages = reinterpret_cast<float*>(patches + PATCHES * kPatchBytes);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int group = blockIdx.y / kTilesM, first_row = blockIdx.y % kTilesM * kTileM;
    const float* const weights = weight + static_cast<long long>(group) * kOutGroup * kInGroup * kTaps;
    const float* const inputs = x + static_cast<long long>(group) * kInGroup * kInPlane;

    if (warp < 8) {
        more_registers<kMultiplierRegisters>();
        const int half = warp / 4;
        multiply_tiles(patches, stages + half * kStageFloats, weights, bias + group * kOutGroup, half,
                       first_row + 64 * half, warp % 4, lane);
    } else {
        fewer_registers<kHelperRegisters>();
        const int half = warp - 8;
        if (half < 2)
            store_stages(y, stages + half * kStageFloats, half, group, first_row + 64 * half, lane);
        else if (half < 2 + LOAD_WARPS)
            load_patches(patches, inputs, threadIdx.x - kMultipliers - 64);
    }
}
