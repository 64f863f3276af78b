// conv2d on Hopper's warpgroup products, as an implicit matrix product, for up to
// 16 input channels (sm_90a): made for convolutions that write much more than
// they read, whose limit is the output's way to memory.
//
// The idea is that of implicit_gemm.cu: input lies in shared memory once, and a
// tap is a constant further on. Here the products read it there themselves, in
// the background, and everything else is somebody else's work: loaders, multipliers
// and storers, of which warpgroup_conv.cuh tells. They meet at named barriers only:
// a patch is full or empty, a half stage is full or free, and each side may be ahead
// of the other by what lies between them.
//
// The way of the data.
//   1. A patch is KERNEL_H stretches of the virtual plane (virtual_plane.cuh), a
//      tile ahead of the products.
//   2. COLUMNS * PIECES neighbouring positions of the virtual plane are multiplied;
//      those behind a row's end are nobody's output and are left out of the stage.
//   3. A tile is a run of kTileP pixels of the flat output plane a channel, whatever
//      the width. A channel's runs begin where sectors of 32 bytes do: one written
//      in two parts costs so much that runs of 768 bytes take half as long again.
//
// Each input row is loaded KERNEL_H times, which is what warpgroup_walk.cu saves
// where rows are wide.
//
// What the tunables trade:
//   COLUMNS, PIECES  positions a product and a tile: longer runs and less halo
//                    against shared memory and registers
//   PATCHES          3: loads are asked for a tile earlier; 2: room for longer runs
//   HELPER_WARPS     more hands; above 4 they cost the multipliers registers
//   STORE_WARPS      2: warps that only store; 0: more that load, and the multipliers store
//   TAKE_TURNS       1: one warpgroup multiplies while the other fills its stage; 0: as
//                    it comes
//   ALIGNMENT        of runs, in floats: 8 for whole sectors, at the price of some
//                    positions multiplied in vain; 4 for none
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
#define HELPER_WARPS 4
#define STORE_WARPS 2
#define TAKE_TURNS 0
#endif

#include "warpgroup_conv.cuh"

namespace {

// The tile: kTileP output pixels of each channel, among kPositions of the virtual
// plane. Planes begin anywhere in a 32-byte sector of memory, so each channel's runs
// begin a few pixels early (run_shift), where sectors do: at most kSlack.
constexpr int kSlack = ALIGNMENT - (kOutPlane % ALIGNMENT == 0 ? ALIGNMENT : kOutPlane & -kOutPlane & (ALIGNMENT - 1));
constexpr int kTileP = (kPositions - kSlack - ceil_div(kPositions, kPitch) * kRowJump) / 8 * 8;
constexpr int kTilesP = ceil_div(kOutPlane + kSlack, kTileP);
constexpr int kTiles = N * kTilesP;
constexpr int kStagePitch = stage_pitch(kTileP);
static_assert(kTileP > 0, "rows are too short for this tile");

// The patch: KERNEL_H stretches. Those that would overlap much are one.
constexpr bool kMerged = kSpan + kTapReach * kPitch <= KERNEL_H * kSpan;
constexpr int kTapRow = kMerged ? DILATION_H * kPitch : kSpan;
constexpr int kPatch = kMerged ? kSpan + kTapReach * kPitch : KERNEL_H * kSpan;
constexpr int kPatchBytes = 64 * kPatch;

constexpr int kPatchFull = kFreeBarrier, kPatchEmpty = kPatchFull + PATCHES;
constexpr int kPatchThreads = kMultipliers + kLoaders;

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

// The tiles of a block: blocks take turns.
struct TileWalk {
    int index;
    __device__ __forceinline__ TileWalk() : index(blockIdx.x) {}
    __device__ __forceinline__ bool more() const { return index < kTiles; }
    __device__ __forceinline__ bool last() const { return index + gridDim.x >= kTiles; }
    __device__ __forceinline__ void next() { index += gridDim.x; }
    __device__ __forceinline__ Run run() const {
        const Tile tile = tile_at(index);
        return {tile.image, tile.first, tile.first + kTileP};
    }
};

// load_patch starts copying a tile's input.
__device__ __forceinline__ void load_patch(char* patch, const float* planes, const Tile& tile, int thread) {
    const int start = (tile.y - PADDING_H) * kPitch + tile.x - PADDING_W;
#pragma unroll 1
    for (int pixel = thread; pixel < kPatch; pixel += kLoaders) {
        const int stretch = kMerged ? 0 : pixel / kSpan;
        int offset;
        const bool inside = input_offset(start + pixel + stretch * (DILATION_H * kPitch - kSpan), offset);
        copy_pixel<kPatch>(patch, pixel, planes + (inside ? offset : 0), inside);
    }
}

// load_patches is what the loading warps do: with a third patch, they ask for the
// tile after next before they convert the next.
__device__ __forceinline__ void load_patches(char* patches, const float* inputs, int thread) {
    constexpr int ahead = PATCHES - 2;
    const TileWalk walk;
    int asked = 0;
    for (int done = 0, index = walk.index; index < kTiles; ++done, index += gridDim.x) {
        for (; asked <= done + ahead; ++asked) {
            const int next = walk.index + asked * gridDim.x;
            if (next < kTiles) {
                const int buffer = asked % PATCHES;
                if (asked >= PATCHES) named_barrier_wait(kPatchEmpty + buffer, kPatchThreads);
                const Tile tile = tile_at(next);
                load_patch(patches + buffer * kPatchBytes,
                           inputs + tile.image * (static_cast<long long>(C) * kInPlane), tile, thread);
            }
            async_copy_commit();
        }
        async_copy_wait<ahead>();
        convert_patch<kPatch>(patches + done % PATCHES * kPatchBytes, thread);
        publish_to_async_proxy();
        named_barrier_arrive(kPatchFull + done % PATCHES, kPatchThreads);
    }
}

// Places of a tile's positions in the stage; first is that of the tile's first, in
// the lane's two rows. Inner tells that there is no row's end in the tile, behind
// which positions are dropped and what follows moves up, and that the first position
// is kSlack before the unshifted run: then only positions near the tile's ends need
// a look.
template <bool Inner>
struct Places {
    int x, first[2];
    __device__ __forceinline__ static constexpr bool sure(int position) {
        return Inner && position >= kSlack && position + 8 <= kTileP;
    }
    __device__ __forceinline__ int at(int r, int position) const {
        bool output = true;
        if (!Inner) {
            const int column = x + position;
            const int rows = kPositions <= kPitch ? column >= kPitch : column / kPitch;
            output = column - rows * kPitch < W_OUT;
            position -= rows * kRowJump;
        }
        const int place = first[r] + position;
        return output && place < kTileP ? place : -1;
    }
};

// The tiles as multipliers see them.
struct PatchWork : TileWalk {
    const char* patches;
    int buffer;
    __device__ __forceinline__ explicit PatchWork(const char* patches) : patches(patches), buffer(0) {}
    __device__ __forceinline__ void next() {
        TileWalk::next();
        buffer = buffer + 1 < PATCHES ? buffer + 1 : 0;
    }
    __device__ __forceinline__ void wait_input() const { named_barrier_wait(kPatchFull + buffer, kPatchThreads); }
    __device__ __forceinline__ const char* tap_row(int r) const {
        return patches + buffer * kPatchBytes + r * kTapRow * 16;
    }
    __device__ __forceinline__ void release_input() const {
        if (index + PATCHES * gridDim.x < kTiles) named_barrier_arrive(kPatchEmpty + buffer, kPatchThreads);
    }
    __device__ __forceinline__ bool inner() const {
        const Tile tile = tile_at(index);
        return tile.x + kPositions <= W_OUT && tile.first >= kSlack;
    }
    template <bool Inner>
    __device__ __forceinline__ Places<Inner> places(const int (&shifts)[2]) const {
        const Tile tile = tile_at(index);
        const int back = tile.start - tile.first;
        return {tile.x, {back + shifts[0], back + shifts[1]}};
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    conv2d_warpgroup_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                          float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    char* const patches = reinterpret_cast<char*>(memory);
    float* const stages = reinterpret_cast<float*>(patches + PATCHES * kPatchBytes);

    const int warp = threadIdx.x / 32, half = warp < 8 ? warp / 4 : warp - 8;
    const int group = blockIdx.y / kTilesM, first_out = blockIdx.y % kTilesM * kTileM + 64 * half;
    const float* const weights = weight + static_cast<long long>(group) * kOutGroup * kInGroup * kTaps;
    float* const stage = stages + half * 64 * kStagePitch;

    if (warp < 8) {
        more_registers<kMultiplierRegisters>();
        multiply_tiles<kPatch, kStagePitch>(PatchWork(patches), y, stage, weights, bias + group * kOutGroup, half,
                                            group * kOutGroup + first_out, first_out);
    } else {
        fewer_registers<kHelperRegisters>();
        if (half < STORE_WARPS)
            store_stages<kStagePitch>(TileWalk(), y, stage, half, group * kOutGroup + first_out, first_out);
        else
            load_patches(patches, x + static_cast<long long>(group) * kInGroup * kInPlane,
                         threadIdx.x - kMultipliers - 32 * STORE_WARPS);
    }
}
