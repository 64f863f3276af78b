// conv2d on tensor cores, as an implicit matrix product (sm_80 on).
//
// The idea. For one tap of the window a convolution is a matrix product: output
// channels x input channels times input channels x pixels, and the pixels of the
// next tap are the same ones a few places further on. So the input is brought to
// shared memory once, in the order that the tensor cores want, and every tap
// reads it at another offset: no matrix of windows is ever written out.
//
//   rows      a tile's output channels: WARPS_M warps of WARP_M each
//   columns   a tile's output pixels: WARPS_P warps of WARP_P each, taken STEP_P
//             at a time so that their sums fit in registers
//   depth     taps x input channels, in chunks of 16 channels
//
// The way of the data.
//   1. Device memory -> shared memory, asynchronously: the patch of input that a
//      tile needs. With PATCHES = 2 the next tile's patch arrives while this
//      one's is being multiplied.
//   2. Shared -> shared: each thread rounds what it copied itself and lays it
//      out, in place, as one 16-byte vector a pixel and quarter of the channels.
//        MATH_TF32 = 1: four channels rounded to TF32, to nearest, ties away.
//        MATH_TF32 = 0: four channels split into bf16 pairs, high and low parts;
//        three products of parts give fp32 accuracy.
//   3. Shared memory -> registers: one vector is a lane's operand for 8 pixels
//      and all 16 channels of a chunk. A tap adds a constant to its address.
//   4. Weights: rounded once and kept in registers (WEIGHTS_IN_REGISTERS), or in
//      shared memory in operand order.
//   5. Sums -> shared memory (the stage) -> device memory, in runs as long as the
//      tile is wide: what a convolution with few input channels costs is writing
//      its output, and short pieces of a plane cost several times long ones.
//
// Pixels are counted in the virtual plane of virtual_plane.cuh, where a step to
// another tap or output row is a step in one number.
//
// Storing is slow and must not stop the products: STORE_WARPS warps do nothing
// else, and meet the multiplying ones at named barriers.
//
// What the tunables trade:
//   FLAT            1: a tile is a run of output pixels that goes on over row
//                   ends: long aligned stores whatever the width; 0: a rectangle
//                   of TILE_H rows, with less halo to load
//   ALIGNMENT       of a flat tile's runs, in floats: 8 for whole sectors, which
//                   makes short runs cheap; 1 for none, and no pixel in vain
//   WARPS_*, WARP_* more channels a warp: each pixel read serves more products;
//                   more pixels a tile: longer runs to store, less halo, and
//                   fewer blocks that fit into an SM
//   STEP_P          more sums in flight against registers; with STEP_P = WARP_P
//                   they wait in registers while the last tile's are stored
//   PATCHES, STAGES 2: loads, products and stores of successive tiles overlap; 1:
//                   less shared memory, so that blocks overlap instead
//   BULK_STORE      1: the copy engine stores (sm_90), 0: threads do
//   STORE_WARPS     0: everyone stores between two tiles
//   BLOCKS_PER_SM   what the compiler must leave room for
// LOAD_WIDTH is the floats of a copy, 4 where rows are 16-byte aligned; TAP_UNROLL
// the rows of taps unrolled, fewer for large kernels.
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
#ifndef WARPS_M
#define WARPS_M 2
#define WARPS_P 4
#define WARP_M 32
#define WARP_P 64
#define STEP_P 32
#define FLAT 1
#define TILE_H 1
#define ALIGNMENT 8
#define PATCHES 2
#define STAGES 1
#define LOAD_WIDTH 4
#define WEIGHTS_IN_REGISTERS 1
#define TAP_UNROLL KERNEL_H
#define BULK_STORE 0
#define STORE_WARPS 1
#define BLOCKS_PER_SM 1
#endif

#include "async_copy.cuh"
#include "bf16.cuh"
#include "bulk_copy.cuh"
#include "mma.cuh"
#include "named_barrier.cuh"
#include "tf32.cuh"
#include "virtual_plane.cuh"

namespace {

// The tile.
constexpr int kMultipliers = 32 * WARPS_M * WARPS_P;  // threads that load, convert and multiply
constexpr int kStorers = 32 * STORE_WARPS;            // threads that do nothing but store
constexpr int kChunk = 16;  // input channels multiplied at a time
constexpr int kChunks = ceil_div(kInGroup, kChunk);
constexpr int kThreads = kMultipliers + kStorers;
constexpr int kTileM = WARPS_M * WARP_M;
constexpr int kTileP = WARPS_P * WARP_P;
constexpr int kTileW = kTileP / TILE_H;

// The runs that it stores. Planes begin anywhere in a 32-byte sector of memory, so
// a flat tile's runs begin a few pixels early in some channels (run_shift), where
// sectors do: at most kSlack, by which runs are shorter than the tile.
constexpr int kSlack = kOutPlane % ALIGNMENT == 0 ? 0 : ALIGNMENT - (kOutPlane & -kOutPlane);
constexpr int kRunP = FLAT && kSlack > 0 ? (kTileP - kSlack) / 8 * 8 : kTileW;
constexpr int kRuns = kTileM * TILE_H;
constexpr int kTilesX = FLAT ? ceil_div(kOutPlane + kSlack, kRunP) : ceil_div(W_OUT, kTileW);
constexpr int kTilesY = FLAT ? 1 : ceil_div(H_OUT, TILE_H);
constexpr int kTiles = N * kTilesX * kTilesY;
constexpr int kTilesM = ceil_div(kOutGroup, kTileM);  // in a group
constexpr int kFragmentsM = WARP_M / 16;
constexpr int kFragmentsP = STEP_P / 8;
constexpr int kSteps = WARP_P / STEP_P;
constexpr int kTapRowsUnrolled = WEIGHTS_IN_REGISTERS ? KERNEL_H : TAP_UNROLL;

// The patch: kPatchRows stretches of the virtual plane, kPatchStep apart, of
// kPatchCols pixels each. A flat tile needs one stretch a row of taps; where
// these would overlap much, one stretch serves all.
constexpr int kFlatSpan = (kTileP - 1) * STRIDE_W + ceil_div(kTileP - 1, W_OUT) * kRowJump +
                          (KERNEL_W - 1) * DILATION_W + 1;
constexpr bool kMerged = FLAT && kFlatSpan + kTapReach * kPitch <= KERNEL_H * kFlatSpan;
constexpr int kSpan = !FLAT     ? (kTileW - 1) * STRIDE_W + (KERNEL_W - 1) * DILATION_W + 1
                      : kMerged ? kFlatSpan + kTapReach * kPitch
                                : kFlatSpan;
constexpr int kPatchRows = !FLAT ? (TILE_H - 1) * STRIDE_H + kTapReach + 1 : kMerged ? 1 : KERNEL_H;
constexpr int kPatchStep = !FLAT ? kPitch : DILATION_H * kPitch;
constexpr int kPatchCols = round_up(kSpan + LOAD_WIDTH - 1, 4);
constexpr int kTapRow = !FLAT ? DILATION_H * kPatchCols : kMerged ? DILATION_H * kPitch : kPatchCols;
constexpr int kPatchVectors = kPatchRows * kPatchCols * 4;  // 16 bytes each

// Weights in shared memory: for each tap and 16 rows, two vectors a lane.
constexpr int kWeightVectors = WEIGHTS_IN_REGISTERS ? 0 : kTaps * (kTileM / 16) * 64;
constexpr int kKeptTaps = WEIGHTS_IN_REGISTERS ? kTaps : 1;
constexpr int kWeightBuffers = kChunks > 1 ? 2 : 1;

// The stage: a row a channel, rows 8 or 24 banks apart so that a warp's stores
// of its fragments do not collide.
constexpr int kStageRow = kRunP * TILE_H;
constexpr int kStageP = kStageRow + (kStageRow / 8 % 2 == 0 ? 8 : 0);
constexpr int kStageFloats = kTileM * kStageP;
constexpr int kRunAlignment = FLAT ? kOutPlane : W_OUT;
constexpr int kStoreWidth = kRunAlignment % 4 == 0 ? 4 : kRunAlignment % 2 == 0 ? 2 : 1;

static_assert(kSteps == 1 || kChunks == 1, "sums that wait for further channels must all be in registers");
static_assert(!WEIGHTS_IN_REGISTERS || kChunks == 1, "registers hold the weights of one chunk");
static_assert(!BULK_STORE || kStoreWidth == 4, "the copy engine wants 16-byte aligned runs");
static_assert(ALIGNMENT == 1 || (FLAT && kOutPlane % 4 == 0), "shifted runs are for flat tiles of vectors");
static_assert(W % LOAD_WIDTH == 0, "a copy must end within its row");

struct Tile {
    int image;
    int y, x;   // the first output pixel
    int first;  // of a flat tile: where unshifted runs begin in the plane,
    int lead;   // and how far before that the first pixel is
};

__device__ __forceinline__ Tile tile_at(int index) {
    constexpr int in_image = kTilesX * kTilesY;
    const int rest = index % in_image;
    Tile tile = {index / in_image, 0, 0, 0, 0};
    if (FLAT) {
        tile.first = rest * kRunP;
        tile.lead = smaller(tile.first, kSlack);
        tile.y = (tile.first - tile.lead) / W_OUT;
        tile.x = (tile.first - tile.lead) % W_OUT;
    } else {
        tile.y = rest / kTilesX * TILE_H;
        tile.x = rest % kTilesX * kTileW;
    }
    return tile;
}

// run_shift is how many pixels early a plane's runs begin.
__device__ __forceinline__ int run_shift(int plane) {
    return kSlack == 0 ? 0 : plane * (kOutPlane % ALIGNMENT) & (ALIGNMENT - 1);
}

// patch_start is where the first tap of the tile's first pixel lies in the
// virtual plane; the patch begins at the aligned position at or before it.
__device__ __forceinline__ int patch_start(const Tile& tile) {
    return (tile.y * STRIDE_H - PADDING_H) * kPitch + tile.x * STRIDE_W - PADDING_W;
}
__device__ __forceinline__ int patch_lead(const Tile& tile) { return patch_start(tile) & (LOAD_WIDTH - 1); }

// A block of the patch is 4 pixels x 4 channels (quarter, +4, +8, +12): 64 bytes
// that one thread copies and later converts, without asking the others.
struct PatchBlock {
    int quarter, row, column;
    __device__ __forceinline__ explicit PatchBlock(int index)
        : quarter(index & 3), row((index >> 2) / (kPatchCols / 4)), column((index >> 2) % (kPatchCols / 4) * 4) {}
    // vector is the index of the 16 bytes of the block's pixel (or, before
    // converting, channel) i.
    __device__ __forceinline__ int vector(int i) const { return (row * kPatchCols + column + i) * 4 + quarter; }
};
constexpr int kPatchBlocks = kPatchVectors / 4;

// load_patch starts copying a tile's input, 16 channels from first_channel on.
__device__ __forceinline__ void load_patch(uint4* patch, const float* planes, const Tile& tile, int first_channel) {
    const int start = patch_start(tile) - patch_lead(tile);
    for (int index = threadIdx.x; index < kPatchBlocks; index += kMultipliers) {
        const PatchBlock block(index);
#pragma unroll
        for (int part = 0; part < 4; part += LOAD_WIDTH) {
            int offset;
            const bool inside = input_offset(start + block.row * kPatchStep + block.column + part, offset);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int channel = first_channel + block.quarter + 4 * i;
                const bool valid = inside && channel < kInGroup;
                const float* from = valid ? planes + static_cast<long long>(channel) * kInPlane + offset : planes;
                async_copy_cached<4 * LOAD_WIDTH>(reinterpret_cast<float*>(&patch[block.vector(i)]) + part, from, valid);
            }
        }
    }
    async_copy_commit();
}

// operand turns four channels of a pixel into what a lane brings to the products.
__device__ __forceinline__ uint4 operand(float a, float b, float c, float d) {
#if MATH_TF32
    return make_uint4(round_to_tf32(a), round_to_tf32(b), round_to_tf32(c), round_to_tf32(d));
#else
    const unsigned high_ab = pack_bf16x2(a, b), high_cd = pack_bf16x2(c, d);
    return make_uint4(high_ab, high_cd, pack_bf16x2(a - bf16_low(high_ab), b - bf16_high(high_ab)),
                      pack_bf16x2(c - bf16_low(high_cd), d - bf16_high(high_cd)));
#endif
}

// convert_patch waits for this thread's copies and turns them into operands.
__device__ __forceinline__ void convert_patch(uint4* patch) {
    async_copy_wait<0>();
    for (int index = threadIdx.x; index < kPatchBlocks; index += kMultipliers) {
        const PatchBlock block(index);
        float channels[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float4 row = reinterpret_cast<const float4*>(patch)[block.vector(i)];
            channels[i][0] = row.x, channels[i][1] = row.y, channels[i][2] = row.z, channels[i][3] = row.w;
        }
#pragma unroll
        for (int p = 0; p < 4; ++p)
            patch[block.vector(p)] = operand(channels[0][p], channels[1][p], channels[2][p], channels[3][p]);
    }
}

// A weight fragment is the lane's operand for 16 output channels, one tap and 16
// input channels, in the order of the registers that a product takes: TF32's
// first and last 8 channels, or bf16's high and low parts of all 16.
struct WeightFragment {
    uint4 first, second;
};
__device__ __forceinline__ float weight_at(const float* weights, int row, int channel, int tap) {
    return row < kOutGroup && channel < kInGroup
               ? __ldg(weights + (static_cast<long long>(row) * kInGroup + channel) * kTaps + tap)
               : 0.0f;
}

// load_weights makes the fragment of the rows from first_row on (of the group's
// output channels) and the channels from first_channel on.
__device__ __forceinline__ WeightFragment load_weights(const float* weights, int first_row, int tap, int first_channel,
                                                       int lane) {
    const int row = first_row + lane / 4, channel = first_channel + lane % 4;
    uint4 rows[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
        rows[i] = operand(weight_at(weights, row + 8 * i, channel, tap), weight_at(weights, row + 8 * i, channel + 4, tap),
                          weight_at(weights, row + 8 * i, channel + 8, tap),
                          weight_at(weights, row + 8 * i, channel + 12, tap));
    return {make_uint4(rows[0].x, rows[1].x, rows[0].y, rows[1].y),
            make_uint4(rows[0].z, rows[1].z, rows[0].w, rows[1].w)};
}

// stage_weights puts the operands of a chunk into shared memory.
__device__ __forceinline__ void stage_weights(uint4* shared, const float* weights, int first_row, int first_channel) {
    for (int i = threadIdx.x; i < kTaps * (kTileM / 16) * 32; i += kMultipliers) {
        const int lane = i % 32, fragment = i / 32;
        const int tap = fragment / (kTileM / 16), m = fragment % (kTileM / 16);
        const WeightFragment w = load_weights(weights, first_row + 16 * m, tap, first_channel, lane);
        shared[fragment * 64 + lane] = w.first;
        shared[fragment * 64 + 32 + lane] = w.second;
    }
}

// multiply adds one of the kProducts products of a tap to 16 x 8 sums. Successive
// products of the same sums wait for each other, so callers take other sums between.
constexpr int kProducts = MATH_TF32 ? 2 : 3;
__device__ __forceinline__ void multiply(float (&sums)[4], const WeightFragment& w, const uint4& p, int product) {
#if MATH_TF32
    const uint4& a = product == 0 ? w.first : w.second;
    const unsigned pixels[2] = {product == 0 ? p.x : p.z, product == 0 ? p.y : p.w};
    mma_m16n8k8_tf32(sums, {a.x, a.y, a.z, a.w}, pixels);
#else  // the small products first: low x high, high x low, high x high
    const uint4& a = product == 0 ? w.second : w.first;
    const unsigned pixels[2] = {product == 1 ? p.z : p.x, product == 1 ? p.w : p.y};
    mma_m16n8k16_bf16(sums, {a.x, a.y, a.z, a.w}, pixels);
#endif
}

// pixel_offset is the distance, in the patch, of the tile's pixel from its first.
__device__ __forceinline__ int pixel_offset(const Tile& tile, int pixel) {
    if (FLAT) {
        const int column = tile.x + pixel;
        const int row_ends = kTileP <= W_OUT ? column >= W_OUT : column / W_OUT;
        return pixel * STRIDE_W + row_ends * kRowJump;
    }
    return pixel / kTileW * STRIDE_H * kPatchCols + pixel % kTileW * STRIDE_W;
}

// add_bias adds to the sums of a lane's rows, `row` and the one 8 further on.
__device__ __forceinline__ void add_bias(float (&sums)[kFragmentsP][4], const float* bias, int row) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int channel = row + i / 2 * 8;
        const float offset = channel < kOutGroup ? __ldg(bias + channel) : 0.0f;
#pragma unroll
        for (int t = 0; t < kFragmentsP; ++t) sums[t][i] += offset;
    }
}

// A run is what a tile stores in one piece: a row of the tile in the plane of an
// output channel. Its floats from begin to end exist.
struct Run {
    float* to;
    const float* from;
    int begin, end;
};
__device__ __forceinline__ Run run_at(float* y, const float* stage, const Tile& tile, int group, int first_row, int run) {
    const int m = run / TILE_H, r = run % TILE_H;
    const int plane = tile.image * C_OUT + group * kOutGroup + first_row + m;
    const int first = FLAT ? tile.first - run_shift(plane) : (tile.y + r) * W_OUT + tile.x;
    Run found = {y + static_cast<long long>(plane) * kOutPlane + first, stage + m * kStageP + r * kRunP, 0, 0};
    if (run >= kRuns || first_row + m >= kOutGroup || tile.y + r >= H_OUT) return found;
    found.begin = first < 0 ? -first : 0;
    found.end = FLAT ? smaller(kRunP, kOutPlane - first) : smaller(kTileW, W_OUT - tile.x);
    return found;
}

// Floats to store at once.
template <int Width> struct Floats;
template <> struct Floats<1> { typedef float type; };
template <> struct Floats<2> { typedef float2 type; };
template <> struct Floats<4> { typedef float4 type; };

// store_tile copies the stage to the output; thread is this thread's number among
// the `threads` that do it. The copy engine takes whole runs; threads take vectors,
// several at once, so that shared memory's latency is waited for once.
__device__ __forceinline__ void store_tile(float* y, const float* stage, const Tile& tile, int group, int first_row,
                                           int thread, int threads) {
    if (BULK_STORE) {
        for (int i = thread; i < kRuns; i += threads) {
            const Run run = run_at(y, stage, tile, group, first_row, i);
            if (run.begin < run.end) bulk_store(run.to + run.begin, run.from + run.begin, 4 * (run.end - run.begin));
        }
        bulk_store_commit();
        return;
    }
    typedef Floats<kStoreWidth>::type Vector;
    constexpr int vectors = kRunP / kStoreWidth, at_once = 8;
    for (int first = thread; first < kRuns * vectors; first += at_once * threads) {
        Vector values[at_once];
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * threads, run = i / vectors, p = i % vectors * kStoreWidth;
            if (i < kRuns * vectors)
                values[u] = *reinterpret_cast<const Vector*>(stage + run / TILE_H * kStageP + run % TILE_H * kRunP + p);
        }
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * threads, p = i % vectors * kStoreWidth;
            const Run run = run_at(y, stage, tile, group, first_row, i / vectors);
            if (p >= run.begin && p < run.end) __stcs(reinterpret_cast<Vector*>(run.to + p), values[u]);
        }
    }
}

// The barriers by number: multipliers among themselves; and a stage that is full
// or free, between multipliers and storers.
constexpr int kMultipliersMeet = 1, kStageFull = 2, kStageFree = kStageFull + STAGES;

__device__ __forceinline__ void multipliers_meet() {
    if (STORE_WARPS)
        named_barrier_wait(kMultipliersMeet, kMultipliers);
    else
        __syncthreads();
}

// store_tiles is what the storing warps do: wait for a full stage, store it, say
// that it is free. The first tiles' stages are free anyway, so the last ones' are
// not announced.
__device__ __forceinline__ void store_tiles(float* y, const float* stages, int group, int first_row) {
    int stage = 0;
    for (int index = blockIdx.x; index < kTiles; index += gridDim.x) {
        named_barrier_wait(kStageFull + stage, kThreads);
        store_tile(y, stages + stage * kStageFloats, tile_at(index), group, first_row, threadIdx.x - kMultipliers,
                   kStorers);
        if (BULK_STORE) bulk_store_wait_read();
        if (index + STAGES * static_cast<int>(gridDim.x) < kTiles) named_barrier_arrive(kStageFree + stage, kThreads);
        stage = (stage + 1) % STAGES;
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS_PER_SM)
    conv2d_implicit_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                         float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    uint4* const patches = memory;
    uint4* const shared_weights = patches + PATCHES * kPatchVectors;
    float* const stages = reinterpret_cast<float*>(shared_weights + kWeightBuffers * kWeightVectors);

    // Who this thread is: lane / 4 is its row in a fragment of weights and sums and
    // its pixel in one of input; lane % 4 its quarter of the channels.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp % WARPS_M * WARP_M, warp_pixel = warp / WARPS_M * WARP_P;
    const int group = blockIdx.y / kTilesM, first_row = blockIdx.y % kTilesM * kTileM;
    const float* const weights = weight + static_cast<long long>(group) * kOutGroup * kInGroup * kTaps;
    const float* const inputs = x + static_cast<long long>(group) * kInGroup * kInPlane;
    constexpr long long kImage = static_cast<long long>(C) * kInPlane;

    int index = blockIdx.x;  // of the tile; blocks take turns, so that neighbouring tiles are stored at one time
    if (index >= kTiles) return;
    if (STORE_WARPS && threadIdx.x >= kMultipliers) {
        store_tiles(y, stages, group, first_row);
        return;
    }

    // Weights, as far as they stay.
    WeightFragment kept[kKeptTaps][kFragmentsM];
    if (WEIGHTS_IN_REGISTERS) {
#pragma unroll
        for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
            for (int m = 0; m < kFragmentsM; ++m)
                kept[tap][m] = load_weights(weights, first_row + warp_row + 16 * m, tap, 0, lane);
    } else {
        stage_weights(shared_weights, weights, first_row, 0);
    }

    Tile tile = tile_at(index);
    load_patch(patches, inputs + tile.image * kImage, tile, 0);
    convert_patch(patches);
    multipliers_meet();

    float sums[kFragmentsM][kFragmentsP][4];
    int chunk = 0, buffer = 0, stage_buffer = 0, weight_buffer = 0, finished = 0;
    while (true) {
        // What comes next: this tile's next channels, or the next tile.
        const bool last_chunk = chunk == kChunks - 1;
        const int next_chunk = last_chunk ? 0 : chunk + 1;
        const int next_index = last_chunk ? index + static_cast<int>(gridDim.x) : index;
        const bool more = next_index < kTiles;
        const Tile next = last_chunk && more ? tile_at(next_index) : tile;
        const int next_buffer = PATCHES == 2 ? buffer ^ 1 : 0;
        uint4* const next_patch = patches + next_buffer * kPatchVectors;
        const float* const next_planes = inputs + next.image * kImage;
        const uint4* const patch = patches + buffer * kPatchVectors;
        const uint4* const chunk_weights = shared_weights + weight_buffer * kWeightVectors;
        float* const stage = stages + stage_buffer * kStageFloats;
        if (PATCHES == 2 && more) load_patch(next_patch, next_planes, next, next_chunk * kChunk);

#pragma unroll 1
        for (int step = 0; step < kSteps; ++step) {
            // Where this lane's pixels lie in the patch.
            const int first_pixel = warp_pixel + step * STEP_P;
            int position[kFragmentsP];
#pragma unroll
            for (int t = 0; t < kFragmentsP; ++t)
                position[t] = (patch_lead(tile) + pixel_offset(tile, first_pixel + 8 * t + lane / 4)) * 4 + lane % 4;

            // Multiply: every tap reads the same patch, a constant further on.
            if (chunk == 0) {
#pragma unroll
                for (int m = 0; m < kFragmentsM; ++m)
#pragma unroll
                    for (int t = 0; t < kFragmentsP; ++t)
#pragma unroll
                        for (int i = 0; i < 4; ++i) sums[m][t][i] = 0.0f;
            }
#pragma unroll kTapRowsUnrolled
            for (int ky = 0; ky < KERNEL_H; ++ky)
#pragma unroll
                for (int kx = 0; kx < KERNEL_W; ++kx) {
                    const int tap = ky * KERNEL_W + kx;
                    const int tap_offset = (ky * kTapRow + kx * DILATION_W) * 4;
                    uint4 pixels[kFragmentsP];
#pragma unroll
                    for (int t = 0; t < kFragmentsP; ++t) pixels[t] = patch[position[t] + tap_offset];
                    WeightFragment rows[kFragmentsM];
#pragma unroll
                    for (int m = 0; m < kFragmentsM; ++m) {
                        if (WEIGHTS_IN_REGISTERS) {
                            rows[m] = kept[tap % kKeptTaps][m];
                        } else {
                            const uint4* from = chunk_weights + (tap * (kTileM / 16) + warp_row / 16 + m) * 64 + lane;
                            rows[m] = {from[0], from[32]};
                        }
                    }
#pragma unroll
                    for (int product = 0; product < kProducts; ++product)
#pragma unroll
                        for (int m = 0; m < kFragmentsM; ++m)
#pragma unroll
                            for (int t = 0; t < kFragmentsP; ++t) multiply(sums[m][t], rows[m], pixels[t], product);
                }

            // The next patch has arrived by now: make operands of it.
            if (PATCHES == 2 && more && step == smaller(1, kSteps - 1)) convert_patch(next_patch);

            // Finished sums go to the stage, once its last content has left.
            if (last_chunk) {
                if (step == 0) {
                    if (STORE_WARPS) {
                        if (finished >= STAGES) named_barrier_wait(kStageFree + stage_buffer, kThreads);
                    } else if (STAGES == 1) {
                        if (BULK_STORE) bulk_store_wait_read();
                        __syncthreads();
                    }
                }
#pragma unroll
                for (int m = 0; m < kFragmentsM; ++m) {
                    const int row = warp_row + 16 * m + lane / 4;
                    if (BIAS) add_bias(sums[m], bias + group * kOutGroup, first_row + row);
                    const int plane = tile.image * C_OUT + group * kOutGroup + first_row + row;
#pragma unroll
                    for (int half = 0; half < 2; ++half) {  // the lane's row, and the one 8 further on
                        float* const to = stage + (row + 8 * half) * kStageP;
                        const int shift = run_shift(plane + 8 * half) - tile.lead;
#pragma unroll
                        for (int t = 0; t < kFragmentsP; ++t) {
                            const int place = first_pixel + 8 * t + lane % 4 * 2 + shift;
                            if (kSlack > 0 && (place < 0 || place >= kRunP)) continue;
                            *reinterpret_cast<float2*>(to + place) =
                                make_float2(sums[m][t][2 * half], sums[m][t][2 * half + 1]);
                        }
                    }
                }
            }
        }

        if (kChunks > 1 && more) {
            weight_buffer ^= 1;
            stage_weights(shared_weights + weight_buffer * kWeightVectors, weights, first_row, next_chunk * kChunk);
        }
        // The stage is full, and everyone is done with the patch.
        if (BULK_STORE && STAGES == 2 && !STORE_WARPS) bulk_store_wait_read();
        if (BULK_STORE && last_chunk) publish_to_async_proxy();
        if (STORE_WARPS && last_chunk) named_barrier_arrive(kStageFull + stage_buffer, kThreads);
        multipliers_meet();
        if (last_chunk) {
            if (!STORE_WARPS) store_tile(y, stage, tile, group, first_row, threadIdx.x, kThreads);
            stage_buffer = (stage_buffer + 1) % STAGES;
            ++finished;
        }
        if (!more) break;
        if (PATCHES == 1) {
            load_patch(next_patch, next_planes, next, next_chunk * kChunk);
            convert_patch(next_patch);
            multipliers_meet();
        }
        tile = next, index = next_index, chunk = next_chunk, buffer = next_buffer;
    }
    if (BULK_STORE && !STORE_WARPS) bulk_store_wait_read();
}
