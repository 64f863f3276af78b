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
//   LOAD_WARPS       more loads under way; above 2 the helpers cost the multipliers
//                    registers
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
constexpr int kSpan = kPositions + (KERNEL_W - 1) * DILATION_W;
constexpr bool kMerged = kSpan + kTapReach * kPitch <= KERNEL_H * kSpan;
constexpr int kTapRow = kMerged ? DILATION_H * kPitch : kSpan;
constexpr int kPatch = kMerged ? kSpan + kTapReach * kPitch : KERNEL_H * kSpan;
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
constexpr int kPatchFull = 1, kPatchEmpty = 3, kStageFull = 5, kStageFree = 7;
constexpr int kPatchThreads = kMultipliers + kLoaders, kStageThreads = 128 + 32;

static_assert(STRIDE_H == 1 && STRIDE_W == 1, "neighbouring outputs must read neighbouring inputs");
static_assert(kInGroup <= 16, "a patch holds 16 channels");
static_assert(kTileP > 0, "rows are too short for this tile");
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

// Eight channels of a pixel are two vectors, kApart slabs from each other: as they
// arrive, four channels each; as operands, TF32's four channels each, or bf16's
// high and low parts of all eight. So a thread converts in place what it copied.
constexpr int kApart = MATH_TF32 ? 1 : 2;
__device__ __forceinline__ char* vector_of(char* patch, int pixel, int half) {
    return patch + half * (MATH_TF32 ? 2 : 1) * kSlabBytes + pixel * 16;
}

// load_patch starts copying a tile's input; neighbouring threads take neighbouring pixels.
__device__ __forceinline__ void load_patch(char* patch, const float* planes, const Tile& tile, int thread) {
    const int start = (tile.y - PADDING_H) * kPitch + tile.x - PADDING_W;
#pragma unroll 1
    for (int pixel = thread; pixel < kPatch; pixel += kLoaders) {
        const int stretch = kMerged ? 0 : pixel / kSpan;
        int offset;
        const bool inside = input_offset(start + pixel + stretch * (DILATION_H * kPitch - kSpan), offset);
        const float* from = planes + (inside ? offset : 0);
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const bool valid = inside && i < kInGroup;
            async_copy<4>(vector_of(patch, pixel, i / 8) + i % 8 / 4 * kApart * kSlabBytes + i % 4 * 4, from, valid);
            if (i + 1 < kInGroup) from += kInPlane;
        }
    }
    async_copy_commit();
}

// convert_patch waits for this thread's copies and makes operands of them.
__device__ __forceinline__ void convert_patch(char* patch, int thread) {
    async_copy_wait<0>();
    for (int pixel = thread; pixel < kPatch; pixel += kLoaders) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint4* const first = reinterpret_cast<uint4*>(vector_of(patch, pixel, half));
            uint4* const second = first + kApart * kSlabBytes / 16;
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

// load_patches is what the loading warps do.
__device__ __forceinline__ void load_patches(char* patches, const float* inputs, int thread) {
    const TileWalk walk;
    int done = 0;
    for (int index = walk.index; index < walk.end; index += walk.stride, ++done) {
        const int buffer = done & 1;
        char* const patch = patches + buffer * kPatchBytes;
        const Tile tile = tile_at(index);
        if (done >= 2) named_barrier_wait(kPatchEmpty + buffer, kPatchThreads);
        load_patch(patch, inputs + tile.image * (static_cast<long long>(C) * kInPlane), tile, thread);
        convert_patch(patch, thread);
        publish_to_async_proxy();
        named_barrier_arrive(kPatchFull + buffer, kPatchThreads);
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

// write_stage puts a lane's sums where they belong in the stage. Positions behind
// a row's end are dropped, and what follows moves up.
__device__ __forceinline__ void write_stage(float* stage, const float (&sums)[PIECES][COLUMNS / 2], const Tile& tile,
                                            int row, int lane, const float (&offsets)[2]) {
    constexpr bool pairs = W_OUT % 2 == 0 && kRowJump % 2 == 0;  // both or neither are outputs, and aligned
#pragma unroll
    for (int j = 0; j < kPositions / 8; ++j) {
        const float* s = &sums[j / (COLUMNS / 8)][j % (COLUMNS / 8) * 4];
#pragma unroll
        for (int i = 0; i < 2; i += pairs ? 2 : 1) {
            const int column = tile.x + 8 * j + lane % 4 * 2 + i;
            const int rows = kPositions <= kPitch ? column >= kPitch : column / kPitch;
            const int pixel = column - tile.x - rows * kRowJump;
            if (column - rows * kPitch >= W_OUT || pixel >= kTileP) continue;
            float* to = stage + row * kStageP + pixel;
            if (pairs) {
                *reinterpret_cast<float2*>(to) = make_float2(plus(s[0], offsets[0]), plus(s[1], offsets[0]));
                *reinterpret_cast<float2*>(to + 8 * kStageP) = make_float2(plus(s[2], offsets[1]), plus(s[3], offsets[1]));
            } else {
                to[0] = plus(s[i], offsets[0]);
                to[8 * kStageP] = plus(s[2 + i], offsets[1]);
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
        const int buffer = done & 1;
        named_barrier_wait(kPatchFull + buffer, kPatchThreads);
        wgmma_fence();
        multiply(sums, kept, patches + buffer * kPatchBytes);
        wgmma_commit();
        wgmma_wait();
        if (index + 2 * walk.stride < walk.end) named_barrier_arrive(kPatchEmpty + buffer, kPatchThreads);

        if (done > 0) named_barrier_wait(kStageFree + half, kStageThreads);
        write_stage(stage, sums, tile_at(index), row, lane, offsets);
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
    float* const stages = reinterpret_cast<float*>(patches + 2 * kPatchBytes);

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
