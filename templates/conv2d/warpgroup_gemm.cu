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
//   3. A tile is a run of kTileP pixels of the flat output plane a channel, whatever
//      the width. A channel's runs begin where sectors of 32 bytes do: one written
//      in two parts costs so much that runs of 768 bytes take half as long again.
//
// What the tunables trade:
//   COLUMNS, PIECES  positions a product and a tile: longer runs and less halo
//                    against shared memory and registers
//   PATCHES          3: loads are asked for a tile earlier; 2: room for longer runs
//   LOAD_WARPS       more hands; above 2 they cost the multipliers registers
//   TAKE_TURNS       1: one warpgroup multiplies while the other fills its stage; 0: as
//                    it comes
//   ALIGNMENT        of runs, in floats: 8 for whole sectors, at the price of some
//                    positions multiplied in vain; 4 for none
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
#define ALIGNMENT 8
#define LOAD_WARPS 2
#define TAKE_TURNS 0
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

// The tile: kTileP output pixels of each channel, among kPositions of the virtual
// plane. Planes begin anywhere in a 32-byte sector of memory, so each channel's runs
// begin a few pixels early (run_shift), where sectors do: at most kSlack.
constexpr int kTileM = 128;
constexpr int kPositions = COLUMNS * PIECES;
constexpr int kSlack = ALIGNMENT - (kOutPlane % ALIGNMENT == 0 ? ALIGNMENT : kOutPlane & -kOutPlane & (ALIGNMENT - 1));
constexpr int kTileStep = ALIGNMENT > 8 ? ALIGNMENT : 8;
constexpr int kTileP = (kPositions - kSlack - ceil_div(kPositions, kPitch) * kRowJump) / kTileStep * kTileStep;
constexpr int kTilesP = ceil_div(kOutPlane + kSlack, kTileP);
constexpr int kTiles = N * kTilesP;
constexpr int kTilesM = ceil_div(kOutGroup, kTileM);  // in a group

// The patch: four slabs of kPatch pixels. Stretches that would overlap much are one.
constexpr int kSpan = kPositions + (KERNEL_W - 1) * DILATION_W;
constexpr bool kMerged = kSpan + kTapReach * kPitch <= KERNEL_H * kSpan;
constexpr int kTapRow = kMerged ? DILATION_H * kPitch : kSpan;
constexpr int kPatch = kMerged ? kSpan + kTapReach * kPitch : KERNEL_H * kSpan;
constexpr int kSlabBytes = kPatch * 16;
constexpr int kPatchBytes = 4 * kSlabBytes;

// The stage: a row a channel, 8 or 24 banks apart so that fragments hardly collide,
// and a multiple of 32 bytes, without which the copy engine writes broken sectors.
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
constexpr int kTurn = kStageFree + 2;
constexpr int kPatchThreads = kMultipliers + kLoaders, kStageThreads = 128 + 32;

static_assert(STRIDE_H == 1 && STRIDE_W == 1, "neighbouring outputs must read neighbouring inputs");
static_assert(kInGroup <= 16, "a patch holds 16 channels");
static_assert(kTileP > 0, "rows are too short for this tile");
static_assert(kOutPlane % 4 == 0, "the copy engine wants 16-byte aligned runs");

struct Tile {
    int image;
    int first;  // pixel of the flat output plane where unshifted runs begin
    int start;  // pixel where the multiplied positions begin
    int y, x;   // the same
};

__device__ __forceinline__ Tile tile_at(int index) {
    Tile tile;
    tile.image = index / kTilesP;
    tile.first = index % kTilesP * kTileP;
    tile.start = tile.first > kSlack ? tile.first - kSlack : 0;
    tile.y = tile.start / W_OUT;
    tile.x = tile.start % W_OUT;
    return tile;
}

// run_shift is how many pixels early a plane's runs begin.
__device__ __forceinline__ int run_shift(int plane) {
    return plane * (kOutPlane % ALIGNMENT) & (ALIGNMENT - 1);
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

// Eight channels of a pixel are two vectors of 16 bytes, kApart slabs from each
// other: as they arrive, four channels each; as operands, TF32's four channels
// each, or bf16's high and low parts of all eight. So a thread converts in place
// what it copied itself.
constexpr int kApart = MATH_TF32 ? 1 : 2;
__device__ __forceinline__ char* vectors_at(char* patch, int pixel, int half) {
    return patch + half * (MATH_TF32 ? 2 : 1) * kSlabBytes + pixel * 16;
}

// load_patch starts copying a tile's input. Neighbouring threads take neighbouring
// pixels of a channel, 4 bytes each: a warp's copies then are one request of 128
// bytes. (Wider ones would have to be scattered, which makes each a request of its
// own, and requests are what the L2 cache runs out of.)
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
            char* to = vectors_at(patch, pixel, i / 8) + i % 8 / 4 * kApart * kSlabBytes + i % 4 * 4;
            async_copy<4>(to, from, inside && i < kInGroup);
            if (i + 1 < kInGroup) from += kInPlane;
        }
    }
}

// convert_patch makes operands of what this thread copied.
__device__ __forceinline__ void convert_patch(char* patch, int thread) {
#pragma unroll 2
    for (int pixel = thread; pixel < kPatch; pixel += kLoaders) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint4* const first = reinterpret_cast<uint4*>(vectors_at(patch, pixel, half));
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

// store_rows tells the copy engine what to store of a stage, run by run. A tile
// inside the plane has whole runs only, which leaves one addition an address.
__device__ __forceinline__ void store_rows(float* y, const float* stage, const Tile& tile, int plane, int rows) {
    int shift = run_shift(plane);
    float* run = y + static_cast<long long>(plane) * kOutPlane + tile.first;  // unshifted
    const bool inside = tile.first >= kSlack && tile.first + kTileP <= kOutPlane && rows == 64;
    if (inside) {
#pragma unroll 8
        for (int row = 0; row < 64; ++row) {
            bulk_store(run - shift, stage + row * kStageP, 4 * kTileP);
            run += kOutPlane;
            shift = (shift + kOutPlane) & (ALIGNMENT - 1);
        }
        return;
    }
    for (int row = 0; row < rows; ++row) {
        const int first = tile.first - shift;
        const int begin = first > 0 ? first : 0, end = smaller(kOutPlane, first + kTileP);
        if (begin < end) bulk_store(run - shift + begin - first, stage + row * kStageP + begin - first, 4 * (end - begin));
        run += kOutPlane;
        shift = (shift + kOutPlane) & (ALIGNMENT - 1);
    }
}

// store_stages is what a storing warp does, for the 64 channels from first_row on
// of the group. One lane speaks for the warp.
__device__ __forceinline__ void store_stages(float* y, const float* stage, int half, int group, int first_row, int lane) {
    const TileWalk walk;
    for (int index = walk.index; index < walk.end; index += walk.stride) {
        const Tile tile = tile_at(index);
        named_barrier_wait(kStageFull + half, kStageThreads);
        if (lane == 0) {
            store_rows(y, stage, tile, tile.image * C_OUT + group * kOutGroup + first_row,
                       smaller(64, kOutGroup - first_row));
            bulk_store_commit();
            bulk_store_wait_read();
        }
        __syncwarp();
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

// write_stage puts a lane's sums where they belong in the stage; first is the place
// of the tile's first position in the lane's two rows. Inner tells that there is no
// row's end in the tile, behind which positions are dropped and what follows moves
// up, and that the first position is kSlack before the unshifted run: then only
// positions near the tile's ends need a look.
template <bool Inner>
__device__ __forceinline__ void write_stage(float* stage, const float (&sums)[PIECES][COLUMNS / 2], int x, int row,
                                            const int (&first)[2], int lane, const float (&offsets)[2]) {
    constexpr bool pairs = W_OUT % 2 == 0 && kRowJump % 2 == 0;  // both or neither are outputs, and aligned
#pragma unroll
    for (int j = 0; j < kPositions / 8; ++j) {
        const float* s = &sums[j / (COLUMNS / 8)][j % (COLUMNS / 8) * 4];
#pragma unroll
        for (int i = 0; i < 2; i += pairs ? 2 : 1) {
            int position = 8 * j + lane % 4 * 2 + i;
            bool output = true;
            if (!Inner) {
                const int column = x + position;
                const int rows = kPositions <= kPitch ? column >= kPitch : column / kPitch;
                output = column - rows * kPitch < W_OUT;
                position -= rows * kRowJump;
            }
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int place = first[r] + position;
                const bool sure = Inner && 8 * j >= kSlack && 8 * j + 8 <= kTileP;
                if (!sure && !(output && place >= 0 && place < kTileP)) continue;
                float* to = stage + (row + 8 * r) * kStageP + place;
                if (pairs)
                    *reinterpret_cast<float2*>(to) = make_float2(plus(s[2 * r], offsets[r]), plus(s[2 * r + 1], offsets[r]));
                else
                    *to = plus(s[2 * r + i], offsets[r]);
            }
        }
    }
}

// multiply_tiles is what a multiplying warpgroup does, for 64 channels: from
// first_row on in the group, from channel on of all.
__device__ __forceinline__ void multiply_tiles(const char* patches, float* stage, const float* weights, const float* bias,
                                               int half, int channel, int first_row, int warp, int lane) {
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
        if (TAKE_TURNS && (half == 1 || done > 0)) named_barrier_wait(kTurn + half, kMultipliers);
        wgmma_fence();
        multiply(sums, kept, patches + buffer * kPatchBytes);
        wgmma_commit();
        wgmma_wait();
        if (TAKE_TURNS && (half == 0 || index + walk.stride < walk.end)) named_barrier_arrive(kTurn + 1 - half, kMultipliers);
        if (index + PATCHES * walk.stride < walk.end) named_barrier_arrive(kPatchEmpty + buffer, kPatchThreads);

        if (done > 0) named_barrier_wait(kStageFree + half, kStageThreads);
        const int plane = tile.image * C_OUT + channel + row;
        const int first[2] = {tile.start - tile.first + run_shift(plane), tile.start - tile.first + run_shift(plane + 8)};
        if (tile.x + kPositions <= W_OUT && tile.first >= kSlack)
            write_stage<true>(stage, sums, tile.x, row, first, lane, offsets);
        else
            write_stage<false>(stage, sums, tile.x, row, first, lane, offsets);
        publish_to_async_proxy();
        named_barrier_arrive(kStageFull + half, kStageThreads);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    conv2d_warpgroup_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                          float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    char* const patches = reinterpret_cast<char*>(memory);
    float* const stages = reinterpret_cast<float*>(patches + PATCHES * kPatchBytes);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int group = blockIdx.y / kTilesM, first_row = blockIdx.y % kTilesM * kTileM;
    const float* const weights = weight + static_cast<long long>(group) * kOutGroup * kInGroup * kTaps;
    const float* const inputs = x + static_cast<long long>(group) * kInGroup * kInPlane;

    if (warp < 8) {
        more_registers<kMultiplierRegisters>();
        const int half = warp / 4;
        multiply_tiles(patches, stages + half * kStageFloats, weights, bias + group * kOutGroup, half,
                       group * kOutGroup + first_row + 64 * half, first_row + 64 * half, warp % 4, lane);
    } else {
        fewer_registers<kHelperRegisters>();
        const int half = warp - 8;
        if (half < 2)
            store_stages(y, stages + half * kStageFloats, half, group, first_row + 64 * half, lane);
        else if (half < 2 + LOAD_WARPS)
            load_patches(patches, inputs, threadIdx.x - kMultipliers - 64);
    }
}
