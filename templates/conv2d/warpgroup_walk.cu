// conv2d on Hopper's warpgroup products, for up to 16 input channels and rows of
// some width (sm_90a): the products and stores of warpgroup_gemm.cu, but blocks walk
// down strips of columns, so that each input row of a strip is loaded once and serves
// KERNEL_H rows of outputs, from a ring of patches in shared memory.
//
// A block keeps to one strip and a share of all images' rows; strips side by side
// belong to blocks side by side, which walk down at the same pace. Loaders, multipliers
// and storers are told of in warpgroup_conv.cuh. Loaders and multipliers meet at an
// mbarrier a patch for full and another for empty, so that loaders may be AHEAD rows
// ahead.
//
// The way of the data.
//   1. All is counted in the virtual plane (virtual_plane.cuh). The tile of row y in
//      strip k is COLUMNS * PIECES positions from y * kPitch + k * kStrip - kLead on,
//      so the next row's tile is kPitch further on.
//   2. A patch is a row of the strip: a tile's positions and what taps reach beyond.
//      Tap (r, c) of tile y reads patch y + r * DILATION_H, c * DILATION_W pixels on.
//   3. A tile makes a run of outputs a channel, which begins and ends where sectors of
//      32 bytes do, since sectors written in two parts cost much. The sector in which
//      row y begins is that in which row y-1 ends: the first strip's tile makes all of
//      it. This is what kLead is for; in the virtual plane, the last outputs of
//      a row lie right before the first of the next.
//
// What the tunables trade:
//   COLUMNS, PIECES  positions a product and a tile: wide strips have long runs and
//                    little halo, but want shared memory and registers; the sums of a piece
//                    go to the stage while the next ones are multiplied
//   AHEAD            patches beyond the KERNEL_H rows' that a tile reads: 1: a row is loaded
//                    while another is multiplied; 2: it is asked for a tile earlier
//   HELPER_WARPS     more hands; above 4 they cost the multipliers registers
//   STORE_WARPS      2: warps that only store; 0: more that load, and the multipliers store
//   TAKE_TURNS       1: one warpgroup multiplies while the other fills its stage; 0: as
//                    it comes
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
#define COLUMNS 72
#define PIECES 3
#define AHEAD 2
#define HELPER_WARPS 4
#define STORE_WARPS 0
#define TAKE_TURNS 0
#endif
#define ALIGNMENT 8

#include "warpgroup_conv.cuh"

namespace {

// Strips: a row's first run begins up to kSlack outputs before the row, in the virtual
// plane kRowJump positions more.
constexpr int kSlack = W_OUT % 8 == 0 ? 0 : 8 - (W_OUT & -W_OUT & 7);
constexpr int kLead = kSlack == 0 ? 0 : kSlack + kRowJump;
constexpr int kStrips = ceil_div(W_OUT, (kPositions - kLead) / 8 * 8);
constexpr int kStrip = round_up(ceil_div(W_OUT, kStrips), 8);
constexpr int kStagePitch = stage_pitch(kStrip + kSlack);
static_assert(kRowJump >= 0 && kLead + PADDING_W <= kPitch && kSlack <= W_OUT, "rows are too short for strips");

// The ring of patches.
constexpr int kReach = kTapReach + 1;  // rows that a tile's taps reach over
constexpr int kRing = kReach + AHEAD;
constexpr int kRows = N * H_OUT;
constexpr int kPatchBytes = 64 * kSpan;

struct Ring {
    char* patches;
    Mbarrier *full, *empty;
    __device__ __forceinline__ char* patch(int number) const { return patches + number % kRing * kPatchBytes; }
    __device__ __forceinline__ void wait_full(int number) const {
        mbarrier_wait(full + number % kRing, number / kRing & 1);
    }
    __device__ __forceinline__ void wait_empty(int number) const {
        if (number >= kRing) mbarrier_wait(empty + number % kRing, number / kRing - 1 & 1);
    }
    // Of a warp whose lanes are done with a patch, one arrives.
    __device__ __forceinline__ void arrive(Mbarrier* barriers, int number) const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(barriers + number % kRing);
    }
};

// The rows of a block: of all images', a share in one strip.
struct RowWalk {
    int strip, row, end;
    __device__ __forceinline__ RowWalk() {
        const int share = blockIdx.x / kStrips, shares = gridDim.x / kStrips;
        strip = blockIdx.x % kStrips;
        row = static_cast<long long>(kRows) * share / shares;
        end = static_cast<long long>(kRows) * (share + 1) / shares;
    }
    __device__ __forceinline__ bool more() const { return row < end; }
    __device__ __forceinline__ bool last() const { return row + 1 == end; }
    __device__ __forceinline__ bool leaves() const {  // the next row is not the one below
        return last() || row % H_OUT == H_OUT - 1;
    }
    __device__ __forceinline__ void next() { ++row; }
    __device__ __forceinline__ Run run() const {
        const int y = row % H_OUT, first = y * W_OUT + strip * kStrip;
        const int end = strip < kStrips - 1 ? first + kStrip : (y + 1) * W_OUT;
        return {row / H_OUT, first, end < kOutPlane ? end : kOutPlane + ALIGNMENT};  // the plane's last ends with it
    }
};

// The patches that they read, in order: kReach rows from one on, then a row for each
// further one.
struct PatchWalk : RowWalk {
    int missing;  // patches that the row lacks but for this one
    __device__ __forceinline__ PatchWalk() : missing(kTapReach) {}
    __device__ __forceinline__ int image() const { return row / H_OUT; }
    __device__ __forceinline__ int input_row() const { return row % H_OUT + kTapReach - missing - PADDING_H; }
    __device__ __forceinline__ void next() {
        if (missing > 0) {
            --missing;
            return;
        }
        missing = leaves() ? kTapReach : 0;
        RowWalk::next();
    }
};

// load_patch starts copying a row of the strip.
__device__ __forceinline__ void load_patch(char* patch, const float* inputs, const PatchWalk& walk, int thread) {
    const float* const planes = inputs + walk.image() * (static_cast<long long>(C) * kInPlane);
    const int start = walk.input_row() * kPitch + walk.strip * kStrip - kLead - PADDING_W;
#pragma unroll 1
    for (int pixel = thread; pixel < kSpan; pixel += kLoaders) {
        int offset;
        const bool inside = input_offset(start + pixel, offset);
        copy_pixel<kSpan>(patch, pixel, planes + (inside ? offset : 0), inside);
    }
}

// load_rows is what the loading warps do. Patches are numbered in a block's order.
__device__ __forceinline__ void load_rows(const Ring& ring, const float* inputs, int thread) {
    constexpr int under_way = AHEAD - 1;  // patches asked for beyond the one that is converted
    PatchWalk next;
    for (int done = 0, asked = 0;; ++done) {
        for (int i = done > 0 ? under_way : 0; i <= under_way; ++i) {
            if (next.more()) {
                ring.wait_empty(asked);
                load_patch(ring.patch(asked++), inputs, next, thread);
                next.next();
            }
            async_copy_commit();
        }
        if (done == asked) return;
        async_copy_wait<under_way>();
        convert_patch<kSpan>(ring.patch(done), thread);
        publish_to_async_proxy();
        ring.arrive(ring.full, done);
    }
}

// Places of a tile's positions in the stage. The first kLead lie before the strip: in
// the leftmost they are the end of the row before.
struct Places {
    int first[2];
    bool leftmost;
    __device__ __forceinline__ static constexpr bool sure(int position) {
        return position >= kLead && position + 8 + kSlack - kLead <= kStagePitch;
    }
    __device__ __forceinline__ int at(int r, int position) const {
        int place = first[r] + position;
        if (sure(position)) return place;
        if (leftmost && position < kLead) place = position < kLead - kRowJump ? place + kRowJump : -1;
        return place < kStagePitch ? place : -1;
    }
};

// The tiles as multipliers see them; patch is the number of a tile's first.
struct RowWork : RowWalk {
    Ring ring;
    int patch;
    __device__ __forceinline__ explicit RowWork(const Ring& ring) : ring(ring), patch(0) {}
    __device__ __forceinline__ void next() {
        patch += leaves() ? kReach : 1;
        RowWalk::next();
    }
    __device__ __forceinline__ void wait_input() const { ring.wait_full(patch + kTapReach); }
    __device__ __forceinline__ const char* tap_row(int r) const { return ring.patch(patch + r * DILATION_H); }
    __device__ __forceinline__ void release_input() const {
        const int done = leaves() ? kReach : 1;
        for (int i = 0; i < done; ++i) ring.arrive(ring.empty, patch + i);
    }
    __device__ __forceinline__ static constexpr bool inner() { return true; }
    template <bool Inner>
    __device__ __forceinline__ Places places(const int (&shifts)[2]) const {
        return {{shifts[0] - kLead, shifts[1] - kLead}, strip == 0};
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    conv2d_warpgroup_walk(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                          float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    char* const patches = reinterpret_cast<char*>(memory);
    float* const stages = reinterpret_cast<float*>(patches + kRing * kPatchBytes);
    Mbarrier* const barriers = reinterpret_cast<Mbarrier*>(stages + kTileM * kStagePitch);
    const Ring ring = {patches, barriers, barriers + kRing};
    if (threadIdx.x < kRing) {
        mbarrier_init(ring.full + threadIdx.x, kLoaders / 32);
        mbarrier_init(ring.empty + threadIdx.x, kMultipliers / 32);
        publish_to_async_proxy();
    }
    __syncthreads();

    const int warp = threadIdx.x / 32, half = warp < 8 ? warp / 4 : warp - 8;
    const int group = blockIdx.y / kTilesM, first_out = blockIdx.y % kTilesM * kTileM + 64 * half;
    const float* const weights = weight + static_cast<long long>(group) * kOutGroup * kInGroup * kTaps;
    float* const stage = stages + half * 64 * kStagePitch;

    if (warp < 8) {
        more_registers<kMultiplierRegisters>();
        multiply_tiles<kSpan, kStagePitch>(RowWork(ring), y, stage, weights, bias + group * kOutGroup, half,
                                           group * kOutGroup + first_out, first_out);
    } else {
        fewer_registers<kHelperRegisters>();
        if (half < STORE_WARPS)
            store_stages<kStagePitch>(RowWalk(), y, stage, half, group * kOutGroup + first_out, first_out);
        else
            load_rows(ring, x + static_cast<long long>(group) * kInGroup * kInPlane,
                      threadIdx.x - kMultipliers - 32 * STORE_WARPS);
    }
}
