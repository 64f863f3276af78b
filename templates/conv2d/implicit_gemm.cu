// conv2d on tensor cores, as an implicit matrix product (sm_80 on).
//
// Idea: for one tap of the window a convolution is a matrix product: output channels x input channels times input
// channels x pixels. The next tap multiplies the same pixels, a few places further on. The kernel loads the input into
// shared memory once, in the order that the tensor cores need, and every tap reads it at another offset: no im2col
// matrix is ever written.
//
//   rows:     a tile's output channels: WARPS_M warps of WARP_M each.
//   columns:  a tile's output pixels: WARPS_P warps of WARP_P each, taken STEP_P
//             at a time so that their sums fit in registers.
//   depth:    taps x input channels, in chunks of 16 channels.
//
// The data flow:
//   1. Device memory -> shared memory, asynchronously: the patch of input that a
//      tile needs. With STAGES = 2 the next tile's patch arrives while the
//      current patch is being multiplied.
//   2. Shared -> shared: each thread rounds the elements that it copied itself and
//      arranges them in place: one 16-byte vector per pixel and quarter of the channels.
//        MATH_TF32 = 1: four channels rounded to TF32, to nearest, ties away from zero.
//        MATH_TF32 = 0: four channels, times a power of two, split into fp16 pairs, high
//        and low parts; three products of parts give fp32 accuracy.
//   3. Shared memory -> registers: one vector is a lane's operand for 8 pixels
//      and all 16 channels of a chunk. The address of the next
//      tap's vector differs by a constant.
//   4. Weights: rounded once and kept in registers (WEIGHTS_IN_REGISTERS), or in
//      shared memory in operand order.
//   5. Epilogue: sums -> shared memory (a store buffer) -> device memory, in runs as
//      long as the tile is wide: a convolution with few input channels spends most of its
//      time on writing its output, and many short stores take several times as long as few long ones.
//
// Pixel positions are counted in the virtual plane of virtual_plane.cuh, where moving to another tap or output row adds
// a constant to a single number.
//
// Blocks are persistent: each takes every gridDim.x-th tile. Compute warps load, convert and multiply. Storing is slow
// and must not stop the compute warps, so STORE_WARPS further warps do nothing but store. Compute warps and store warps
// synchronise at named barriers.
//
// Tunables and their trade-offs:
//   FLAT            1: a tile is a run of output pixels that goes on over row
//                   ends: long aligned stores whatever the width; 0: a rectangle
//                   of TILE_H rows, with less halo to load.
//   ALIGNMENT:      alignment of a flat tile's runs, in floats: 8 stores whole sectors, which
//                   makes short runs cheap; 1 does not align runs, and computes no extra pixels.
//   WARPS_*, WARP_* more channels per warp: each pixel read serves more products;
//                   more pixels per tile: longer runs to store, less halo, and
//                   fewer blocks that fit into an SM.
//   STEP_P:         pixels that a warp multiplies at a time: more sums in flight, but more registers; with
//                   STEP_P = WARP_P, sums wait in registers while those of the last tile are stored.
//   STAGES:         stages of the pipeline of patches (2: a patch is loaded while another is
//                   multiplied; 1: less shared memory, so that blocks overlap instead).
//   STORE_BUFFERS   2: a tile's sums are written while the last tile's are stored;
//                   1: less shared memory.
//   WEIGHTS_IN_REGISTERS  1: weights are not read from shared memory, but take registers.
//   BULK_STORE      1: the copy engine stores the outputs (sm_90); 0: threads store them.
//   STORE_WARPS     0: the compute warps store between two tiles.
//   BLOCKS_PER_SM:  blocks per SM that the compiler must leave registers for.
// LOAD_WIDTH is the number of floats per copy: 4 where rows are 16-byte aligned. TAP_UNROLL is the number of rows of
// taps that are unrolled: fewer for large kernels. Values that op.yaml derives from the tunables (tile, patch, runs)
// have the same names in this file.

#include "async_copy.cuh"
#include "bulk_copy.cuh"
#include "convolution_place.cuh"
#include "mma.cuh"
#include "named_barrier.cuh"
#include "tensor_scales.cuh"
#include "tf32.cuh"
#include "virtual_plane.cuh"

namespace {

constexpr int kComputeThreads = 32 * WARPS_M * WARPS_P;  // these load, convert and multiply
constexpr int kStoreThreads = THREADS - kComputeThreads;  // these only store

// Sizes of a tile, and of the parts of a tile that a warp multiplies at a time.
constexpr int kChunk = 16;  // input channels
constexpr int kTilesInImage = TILES / N;
constexpr int kTilesM = TILES_M / GROUPS;  // in a group
constexpr int kFragmentsM = WARP_M / 16;
constexpr int kFragmentsP = STEP_P / 8;
constexpr int kSteps = WARP_P / STEP_P;
constexpr int kTapRowsUnrolled = WEIGHTS_IN_REGISTERS ? KERNEL_H : TAP_UNROLL;
static_assert(kSteps == 1 || CHUNKS == 1, "sums that wait for further channels must all be in registers");

// A patch is the input of a tile: PATCH_ROWS stretches of the virtual plane, kPatchStep apart, of PATCH_COLUMNS pixels
// each. A flat tile needs one stretch for each row of taps; where stretches would overlap much, one of them serves all
// rows (MERGED).
constexpr int kPatchStep = !FLAT ? PITCH : DILATION_H * PITCH;
constexpr int kTapRow = !FLAT ? DILATION_H * PATCH_COLUMNS : MERGED ? DILATION_H * PITCH : PATCH_COLUMNS;
constexpr int kPatchVectors = PATCH_BYTES / 16;
static_assert(PATCH_COLUMNS % 4 == 0, "a patch is loaded in blocks of 4 pixels");
static_assert(W % LOAD_WIDTH == 0, "a copy must end within its row");

// Weights in shared memory take two vectors per lane for each tap and each 16 rows.
constexpr int kWeightVectors = WEIGHT_BYTES / 16;
constexpr int kKeptTaps = WEIGHTS_IN_REGISTERS ? kTaps : 1;
static_assert(!WEIGHTS_IN_REGISTERS || CHUNKS == 1, "registers hold the weights of one chunk");

// A store buffer holds TILE_H runs of each channel. Output planes begin anywhere in a 32-byte sector of memory. To
// begin at a sector, a flat tile's run starts up to SLACK pixels early (run_shift), depending on the channel; so a run
// is up to SLACK pixels shorter than the tile.
constexpr int kRuns = TILE_M * TILE_H;
constexpr int kStoreFloats = STORE_BYTES / 4;
constexpr int kStoreWidth = RUN_ALIGNMENT % 4 == 0 ? 4 : RUN_ALIGNMENT % 2 == 0 ? 2 : 1;
static_assert(!BULK_STORE || kStoreWidth == 4, "the copy engine wants 16-byte aligned runs");
static_assert(ALIGNMENT == 1 || (FLAT && PLANE % 4 == 0), "shifted runs are for flat tiles of vectors");

// ---- Shared memory, laid out as op.yaml allocates it.

struct Shared {
    uint4* memory;
    __device__ __forceinline__ uint4* patch(int stage) const { return memory + stage * kPatchVectors; }
    __device__ __forceinline__ uint4* weights(int buffer) const { return patch(STAGES) + buffer * kWeightVectors; }
    __device__ __forceinline__ float* store_buffer(int buffer) const {
        return reinterpret_cast<float*>(weights(WEIGHT_BUFFERS)) + buffer * kStoreFloats;
    }
};

// ---- The persistent tile scheduler.

struct Tile {
    int image;
    int y, x;   // the first output pixel
    int first;  // of a flat tile: where unshifted runs begin in the plane,
    int lead;   // and how far before that the first pixel is
};

__device__ __forceinline__ Tile tile_at(int index) {
    const int rest = index % kTilesInImage;
    Tile tile = {index / kTilesInImage, 0, 0, 0, 0};
    if (FLAT) {
        tile.first = rest * RUN;
        tile.lead = smaller(tile.first, SLACK);
        tile.y = (tile.first - tile.lead) / W_OUT;
        tile.x = (tile.first - tile.lead) % W_OUT;
    } else {
        tile.y = rest / TILES_X * TILE_H;
        tile.x = rest % TILES_X * TILE_W;
    }
    return tile;
}

// Work is what one iteration of the mainloop multiplies: one chunk of a tile's input channels.
struct Work {
    int index, chunk;
    Tile tile;
    __device__ __forceinline__ bool exists() const { return index < TILES; }
    __device__ __forceinline__ bool first_chunk() const { return CHUNKS == 1 || chunk == 0; }
    __device__ __forceinline__ bool last_chunk() const { return CHUNKS == 1 || chunk == CHUNKS - 1; }
    // next returns the tile's next chunk, or the first chunk of the block's next tile.
    __device__ __forceinline__ Work next() const {
        if (!last_chunk()) return {index, chunk + 1, tile};
        const int next_index = index + static_cast<int>(gridDim.x);
        return {next_index, 0, next_index < TILES ? tile_at(next_index) : tile};
    }
};

// Block holds what all tiles of a block share: their output channels and the tensors.
struct Block {
    TensorScales scales;
    int group, first_row;  // within the group's output channels
    const float *inputs, *weights, *bias;
    float* y;
    Epilogue epilogue;
    __device__ __forceinline__ Block(const float* x, const float* weight, const float* scales, const float* all_bias, float* y,
                                     const Epilogue& epilogue)
        : scales(scales), group(blockIdx.y / kTilesM), first_row(blockIdx.y % kTilesM * TILE_M),
          inputs(x + static_cast<long long>(group) * C_GROUP * kInPlane),
          weights(weight + static_cast<long long>(group) * C_OUT_GROUP * C_GROUP * kTaps),
          bias(all_bias + group * C_OUT_GROUP), y(y), epilogue(epilogue) {}
    // plane returns the index of a row's output plane among the planes of all images.
    __device__ __forceinline__ int plane(const Tile& tile, int row) const {
        return tile.image * C_OUT + group * C_OUT_GROUP + first_row + row;
    }
};

// Lane is a compute thread's part of a tile. The quotient lane / 4 is the lane's row in a fragment of weights or sums,
// and its pixel in a fragment of input. The remainder lane % 4 selects the lane's quarter of the channels.
struct Lane {
    int lane, warp, warp_row, warp_pixel;
    __device__ __forceinline__ Lane()
        : lane(threadIdx.x % 32), warp(threadIdx.x / 32), warp_row(warp % WARPS_M * WARP_M),
          warp_pixel(warp / WARPS_M * WARP_P) {}
};

// run_shift returns by how many pixels a plane's runs begin early.
__device__ __forceinline__ int run_shift(int plane) {
    return SLACK == 0 ? 0 : plane * (PLANE % ALIGNMENT) & (ALIGNMENT - 1);
}

// ---- Loading and converting the input.

// patch_start returns the position in the virtual plane of the first tap of the tile's first pixel. The tile's patch
// begins at the last aligned position that is not after patch_start.
__device__ __forceinline__ int patch_start(const Tile& tile) {
    return (tile.y * STRIDE_H - PADDING_H) * PITCH + tile.x * STRIDE_W - PADDING_W;
}
__device__ __forceinline__ int patch_lead(const Tile& tile) { return patch_start(tile) & (LOAD_WIDTH - 1); }

// A PatchBlock is 4 pixels x 4 channels (quarter, +4, +8, +12) of the patch: 64 bytes that one thread copies and later
// converts, without synchronising with other threads.
struct PatchBlock {
    int quarter, row, column;
    __device__ __forceinline__ explicit PatchBlock(int index)
        : quarter(index & 3), row((index >> 2) / (PATCH_COLUMNS / 4)), column((index >> 2) % (PATCH_COLUMNS / 4) * 4) {}
    // vector returns the index of the 16-byte vector that holds pixel i of the block; before conversion, channel i.
    __device__ __forceinline__ int vector(int i) const { return (row * PATCH_COLUMNS + column + i) * 4 + quarter; }
};
constexpr int kPatchBlocks = kPatchVectors / 4;

__device__ __forceinline__ void load_patch(uint4* patch, const Block& block, const Work& work) {
    const float* const planes = block.inputs + work.tile.image * (static_cast<long long>(C) * kInPlane);
    const int start = patch_start(work.tile) - patch_lead(work.tile), first_channel = work.chunk * kChunk;
    for (int index = threadIdx.x; index < kPatchBlocks; index += kComputeThreads) {
        const PatchBlock at(index);
#pragma unroll
        for (int part = 0; part < 4; part += LOAD_WIDTH) {
            int offset;
            const bool inside = input_offset(start + at.row * kPatchStep + at.column + part, offset);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int channel = first_channel + at.quarter + 4 * i;
                const bool valid = inside && channel < C_GROUP;
                const float* from = valid ? planes + static_cast<long long>(channel) * kInPlane + offset : planes;
                async_copy_cached<4 * LOAD_WIDTH>(reinterpret_cast<float*>(&patch[at.vector(i)]) + part, from, valid);
            }
        }
    }
    async_copy_commit();
}

// operand converts four channels of a pixel to a lane's operand of a product.
__device__ __forceinline__ uint4 operand(float a, float b, float c, float d, float power) {
#if MATH_TF32
    return make_uint4(round_to_tf32(a), round_to_tf32(b), round_to_tf32(c), round_to_tf32(d));
#else
    uint4 parts;
    split_fp16x2(a * power, b * power, parts.x, parts.z);
    split_fp16x2(c * power, d * power, parts.y, parts.w);
    return parts;
#endif
}

// convert_patch waits for this thread's copies and converts them to operands.
__device__ __forceinline__ void convert_patch(uint4* patch, float power) {
    async_copy_wait<0>();
    for (int index = threadIdx.x; index < kPatchBlocks; index += kComputeThreads) {
        const PatchBlock block(index);
        float channels[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float4 row = reinterpret_cast<const float4*>(patch)[block.vector(i)];
            channels[i][0] = row.x, channels[i][1] = row.y, channels[i][2] = row.z, channels[i][3] = row.w;
        }
#pragma unroll
        for (int p = 0; p < 4; ++p)
            patch[block.vector(p)] = operand(channels[0][p], channels[1][p], channels[2][p], channels[3][p], power);
    }
}

// ---- Weights.

// WeightFragment is a lane's operand for 16 output channels, one tap and 16 input channels, in the order of the
// registers of an mma instruction: with TF32 the first and the last 8 channels, with fp16 the high and the low parts of
// all 16.
struct WeightFragment {
    uint4 first, second;
};

// load_weights returns the fragment of the 16 rows from first_row on and the 16 channels from first_channel on.
__device__ __forceinline__ WeightFragment load_weights(const Block& block, int first_row, int tap, int first_channel, int lane) {
    const float* const weights = block.weights;
    const int row = block.first_row + first_row + lane / 4, channel = first_channel + lane % 4;
    uint4 rows[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
        rows[i] = operand(weight_at(weights, row + 8 * i, channel, tap),
                          weight_at(weights, row + 8 * i, channel + 4, tap),
                          weight_at(weights, row + 8 * i, channel + 8, tap),
                          weight_at(weights, row + 8 * i, channel + 12, tap), block.scales.weights.power);
    return {make_uint4(rows[0].x, rows[1].x, rows[0].y, rows[1].y),
            make_uint4(rows[0].z, rows[1].z, rows[0].w, rows[1].w)};
}

// stage_weights writes the operands of a chunk of channels to shared memory.
__device__ __forceinline__ void stage_weights(uint4* shared, const Block& block, int first_channel) {
    for (int i = threadIdx.x; i < kTaps * (TILE_M / 16) * 32; i += kComputeThreads) {
        const int lane = i % 32, fragment = i / 32;
        const int tap = fragment / (TILE_M / 16), m = fragment % (TILE_M / 16);
        const WeightFragment w = load_weights(block, 16 * m, tap, first_channel, lane);
        shared[fragment * 64 + lane] = w.first;
        shared[fragment * 64 + 32 + lane] = w.second;
    }
}

// load_resident_weights loads the weights of all taps into registers, where they stay.
typedef WeightFragment ResidentWeights[kKeptTaps][kFragmentsM];
__device__ __forceinline__ void load_resident_weights(ResidentWeights& resident, const Block& block, const Lane& at) {
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
        for (int m = 0; m < kFragmentsM; ++m)
            resident[tap % kKeptTaps][m] = load_weights(block, at.warp_row + 16 * m, tap, 0, at.lane);
}

// tap_weights returns a tap's fragments: from registers, or from the weights of a chunk in shared memory, where
// lane_weights points to the lane's first vector.
__device__ __forceinline__ void tap_weights(WeightFragment (&rows)[kFragmentsM], const ResidentWeights& resident,
                                            const uint4* lane_weights, int tap) {
#pragma unroll
    for (int m = 0; m < kFragmentsM; ++m) {
        const uint4* const from = lane_weights + (tap * (TILE_M / 16) + m) * 64;
        if (WEIGHTS_IN_REGISTERS)
            rows[m] = resident[tap % kKeptTaps][m];
        else
            rows[m] = {from[0], from[32]};
    }
}

// ---- Mainloop: products.

// multiply adds one of the kProducts products of a tap to 16 x 8 sums. Successive products that add to the same sums
// wait for each other, so callers multiply for other sums in between.
constexpr int kProducts = MATH_TF32 ? 2 : 3;
__device__ __forceinline__ void multiply(float (&sums)[4], const WeightFragment& w, const uint4& p, int product) {
#if MATH_TF32
    const uint4& a = product == 0 ? w.first : w.second;
    const unsigned pixels[2] = {product == 0 ? p.x : p.z, product == 0 ? p.y : p.w};
    mma_m16n8k8_tf32(sums, {a.x, a.y, a.z, a.w}, pixels);
#else  // the small products first: low x high, high x low, high x high
    const uint4& a = product == 0 ? w.second : w.first;
    const unsigned pixels[2] = {product == 1 ? p.z : p.x, product == 1 ? p.w : p.y};
    mma_m16n8k16_fp16(sums, {a.x, a.y, a.z, a.w}, pixels);
#endif
}

// pixel_offset returns the distance in the patch from the tile's first pixel to another pixel.
__device__ __forceinline__ int pixel_offset(const Tile& tile, int pixel) {
    if (FLAT) {
        const int column = tile.x + pixel;
        const int row_ends = TILE_P <= W_OUT ? column >= W_OUT : column / W_OUT;
        return pixel * STRIDE_W + row_ends * kRowJump;
    }
    return pixel / TILE_W * STRIDE_H * PATCH_COLUMNS + pixel % TILE_W * STRIDE_W;
}

typedef float Sums[kFragmentsM][kFragmentsP][4];

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
    for (int m = 0; m < kFragmentsM; ++m)
#pragma unroll
        for (int t = 0; t < kFragmentsP; ++t)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[m][t][i] = 0.0f;
}

// multiply_tap adds a tap's products. All taps read the same patch; a tap's pixels lie a constant distance after
// `position`, where the lane's pixels of the first tap lie.
__device__ __forceinline__ void multiply_tap(Sums& sums, const uint4* patch, const int (&position)[kFragmentsP],
                                             int tap_offset, const WeightFragment (&rows)[kFragmentsM]) {
    uint4 pixels[kFragmentsP];
#pragma unroll
    for (int t = 0; t < kFragmentsP; ++t) pixels[t] = patch[position[t] + tap_offset];
#pragma unroll
    for (int product = 0; product < kProducts; ++product)
#pragma unroll
        for (int m = 0; m < kFragmentsM; ++m)
#pragma unroll
            for (int t = 0; t < kFragmentsP; ++t) multiply(sums[m][t], rows[m], pixels[t], product);
}

// multiply_taps adds the products of all taps for the STEP_P pixels from first_pixel on.
__device__ __forceinline__ void multiply_taps(Sums& sums, const uint4* patch, const uint4* chunk_weights,
                                              const ResidentWeights& resident, const Tile& tile, int first_pixel,
                                              const Lane& at) {
    const uint4* const lane_weights = chunk_weights + at.warp_row / 16 * 64 + at.lane;
    int position[kFragmentsP];
#pragma unroll
    for (int t = 0; t < kFragmentsP; ++t)
        position[t] = (patch_lead(tile) + pixel_offset(tile, first_pixel + 8 * t + at.lane / 4)) * 4 + at.lane % 4;
#pragma unroll kTapRowsUnrolled
    for (int ky = 0; ky < KERNEL_H; ++ky)
#pragma unroll
        for (int kx = 0; kx < KERNEL_W; ++kx) {
            WeightFragment rows[kFragmentsM];
            tap_weights(rows, resident, lane_weights, ky * KERNEL_W + kx);
            multiply_tap(sums, patch, position, (ky * kTapRow + kx * DILATION_W) * 4, rows);
        }
}

// ---- Epilogue: sums to a store buffer.

// add_bias adds the bias to the sums of a lane's two rows, `row` and `row` + 8.
__device__ __forceinline__ void add_bias(float (&sums)[kFragmentsP][4], const float* bias, int row) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int channel = row + i / 2 * 8;
        const float offset = channel < C_OUT_GROUP ? __ldg(bias + channel) : 0.0f;
#pragma unroll
        for (int t = 0; t < kFragmentsP; ++t) sums[t][i] += offset;
    }
}

// place_of locates a tile's pixel in the output plane of a row. For rows after the group's last row, place_of returns
// a place in the last row's plane.
__device__ __forceinline__ RowPlace place_of(const Block& block, const Tile& tile, int row, int pixel) {
    const int plane = block.plane(tile, smaller(row, C_OUT_GROUP - 1 - block.first_row));
    const int channel = plane - tile.image * C_OUT;
    if (FLAT) return {tile.image, channel, plane, 0, 1, tile.first - tile.lead + pixel, PLANE};
    return {tile.image, channel, plane, tile.y + pixel / TILE_W, H_OUT, tile.x + pixel % TILE_W, W_OUT};
}

// finish loads the epilogue's tensors for a lane's sums of two rows, and then applies the epilogue to the sums.
__device__ __forceinline__ void finish(float (&sums)[kFragmentsP][4], const Block& block, const Tile& tile, int row,
                                       int first_pixel) {
    if constexpr (!Epilogue::kIsNone) {
        Epilogue::Loaded<2, RowPlace> beside[kFragmentsP][2];
#pragma unroll
        for (int i = 0; i < 2 * kFragmentsP; ++i)
            beside[i / 2][i % 2] = block.epilogue.load<2>(place_of(block, tile, row + i % 2 * 8, first_pixel + i / 2 * 8));
#pragma unroll
        for (int i = 0; i < 2 * kFragmentsP; ++i) {
            float* const at = sums[i / 2] + i % 2 * 2;
            float pair[2] = {at[0], at[1]};
            block.epilogue.apply(pair, beside[i / 2][i % 2]);
            at[0] = pair[0], at[1] = pair[1];
        }
    }
}

// write_row writes a lane's sums of one row to the store buffer; `half` selects the first or the second half of each
// four sums.
__device__ __forceinline__ void write_row(float* to, const float (&sums)[kFragmentsP][4], int half, int first_place) {
#pragma unroll
    for (int t = 0; t < kFragmentsP; ++t) {
        const int place = first_place + 8 * t;
        if (SLACK > 0 && (place < 0 || place >= RUN)) continue;
        *reinterpret_cast<float2*>(to + place) = make_float2(sums[t][2 * half], sums[t][2 * half + 1]);
    }
}

// write_sums writes the sums of the STEP_P pixels from first_pixel on to the store buffer.
__device__ __forceinline__ void write_sums(float* store_buffer, Sums& sums, const Block& block, const Tile& tile,
                                           int first_pixel, const Lane& at) {
#pragma unroll
    for (int m = 0; m < kFragmentsM; ++m) {
        const int row = at.warp_row + 16 * m + at.lane / 4;
#pragma unroll
        for (int i = 0; i < 4 * kFragmentsP; ++i) sums[m][i / 4][i % 4] = block.scales.sum(sums[m][i / 4][i % 4]);
        if (BIAS) add_bias(sums[m], block.bias, block.first_row + row);
        finish(sums[m], block, tile, row, first_pixel + at.lane % 4 * 2);
#pragma unroll
        for (int half = 0; half < 2; ++half) {  // the lane's row, and the one 8 further on
            const int shift = run_shift(block.plane(tile, row) + 8 * half) - tile.lead;
            write_row(store_buffer + (row + 8 * half) * STORE_PITCH, sums[m], half,
                      first_pixel + at.lane % 4 * 2 + shift);
        }
    }
}

// ---- Epilogue: from store buffers to device memory.

// Run describes outputs that a tile stores in one piece: one row of the tile in the plane of one output channel. Only a
// run's floats from `begin` to `end` exist in the output.
struct Run {
    float* to;
    const float* from;
    int begin, end;
};
__device__ __forceinline__ Run run_at(const float* store_buffer, const Block& block, const Tile& tile, int run) {
    const int m = run / TILE_H, r = run % TILE_H, plane = block.plane(tile, m);
    const int first = FLAT ? tile.first - run_shift(plane) : (tile.y + r) * W_OUT + tile.x;
    Run found = {block.y + static_cast<long long>(plane) * PLANE + first, store_buffer + m * STORE_PITCH + r * RUN, 0,
                 0};
    if (run >= kRuns || block.first_row + m >= C_OUT_GROUP || tile.y + r >= H_OUT) return found;
    found.begin = first < 0 ? -first : 0;
    found.end = FLAT ? smaller(RUN, PLANE - first) : smaller(TILE_W, W_OUT - tile.x);
    return found;
}

__device__ __forceinline__ void bulk_store_runs(const float* store_buffer, const Block& block, const Tile& tile,
                                                int thread, int threads) {
    for (int i = thread; i < kRuns; i += threads) {
        const Run run = run_at(store_buffer, block, tile, i);
        if (run.begin < run.end) bulk_store(run.to + run.begin, run.from + run.begin, 4 * (run.end - run.begin));
    }
    bulk_store_commit();
}

// store_vectors stores vectors, several at once, so that it waits for the latency of shared memory only once.
__device__ __forceinline__ void store_vectors(const float* store_buffer, const Block& block, const Tile& tile,
                                              int thread, int threads) {
    typedef FloatVector<kStoreWidth>::type Vector;
    constexpr int vectors = RUN / kStoreWidth, at_once = 8;
    for (int first = thread; first < kRuns * vectors; first += at_once * threads) {
        Vector values[at_once];
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * threads, run = i / vectors, p = i % vectors * kStoreWidth;
            if (i < kRuns * vectors)
                values[u] = *reinterpret_cast<const Vector*>(store_buffer + run / TILE_H * STORE_PITCH +
                                                             run % TILE_H * RUN + p);
        }
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * threads, p = i % vectors * kStoreWidth;
            const Run run = run_at(store_buffer, block, tile, i / vectors);
            if (p >= run.begin && p < run.end) __stcs(reinterpret_cast<Vector*>(run.to + p), values[u]);
        }
    }
}

// store_tile stores a tile; `thread` is this thread's index among the `threads` threads that store it.
__device__ __forceinline__ void store_tile(const float* store_buffer, const Block& block, const Tile& tile, int thread,
                                           int threads) {
    if (BULK_STORE)
        bulk_store_runs(store_buffer, block, tile, thread, threads);
    else
        store_vectors(store_buffer, block, tile, thread, threads);
}

// ---- Named barriers: one for the compute warps, and for each store buffer a full and a free barrier between compute
// warps and store warps.

constexpr int kComputeMeet = 1, kBufferFull = 2, kBufferFree = kBufferFull + STORE_BUFFERS;

__device__ __forceinline__ void compute_warps_meet() {
    if (STORE_WARPS)
        named_barrier_wait(kComputeMeet, kComputeThreads);
    else
        __syncthreads();
}

// acquire_buffer returns when the last content of the store buffer has been stored.
__device__ __forceinline__ void acquire_buffer(int buffer, int tiles_done) {
    if (STORE_WARPS) {
        if (tiles_done >= STORE_BUFFERS) named_barrier_wait(kBufferFree + buffer, THREADS);
    } else if (STORE_BUFFERS == 1) {
        if (BULK_STORE) bulk_store_wait_read();
        __syncthreads();
    }
}

// commit_buffer passes a full store buffer to the copy engine and the store warps.
__device__ __forceinline__ void commit_buffer(int buffer) {
    if (BULK_STORE) publish_to_async_proxy();
    if (STORE_WARPS) named_barrier_arrive(kBufferFull + buffer, THREADS);
}

// store_tiles is the loop of the store warps. The loop does not announce the store buffers of the last tiles as free,
// since no warp waits for them.
__device__ __forceinline__ void store_tiles(const Shared& shared, const Block& block) {
    int buffer = 0;
    for (int index = blockIdx.x; index < TILES; index += gridDim.x) {
        named_barrier_wait(kBufferFull + buffer, THREADS);
        store_tile(shared.store_buffer(buffer), block, tile_at(index), threadIdx.x - kComputeThreads, kStoreThreads);
        if (BULK_STORE) bulk_store_wait_read();
        if (index + STORE_BUFFERS * static_cast<int>(gridDim.x) < TILES)
            named_barrier_arrive(kBufferFree + buffer, THREADS);
        buffer = (buffer + 1) % STORE_BUFFERS;
    }
}

// compute_tiles is the loop of the compute warps: mainloop and epilogue.
__device__ __forceinline__ void compute_tiles(const Shared& shared, const Block& block) {
    const Lane at;
    ResidentWeights resident;
    if (WEIGHTS_IN_REGISTERS)
        load_resident_weights(resident, block, at);
    else
        stage_weights(shared.weights(0), block, 0);

    Work work = {static_cast<int>(blockIdx.x), 0, tile_at(blockIdx.x)};
    load_patch(shared.patch(0), block, work);
    convert_patch(shared.patch(0), block.scales.input.power);
    compute_warps_meet();

    Sums sums;
    int stage = 0, weight_buffer = 0, buffer = 0, tiles_done = 0;
    while (true) {
        const Work next = work.next();
        const bool more = next.exists();
        const int next_stage = STAGES == 2 ? stage ^ 1 : 0;
        uint4* const next_patch = shared.patch(next_stage);
        if (STAGES == 2 && more) load_patch(next_patch, block, next);

#pragma unroll 1
        for (int step = 0; step < kSteps; ++step) {
            const int first_pixel = at.warp_pixel + step * STEP_P;
            if (work.first_chunk()) clear(sums);
            multiply_taps(sums, shared.patch(stage), shared.weights(weight_buffer), resident, work.tile, first_pixel,
                          at);

            // The copies of the next patch have arrived before this step, so the patch can be converted to operands.
            if (STAGES == 2 && more && step == smaller(1, kSteps - 1)) convert_patch(next_patch, block.scales.input.power);

            if (!work.last_chunk()) continue;
            if (step == 0) acquire_buffer(buffer, tiles_done);
            write_sums(shared.store_buffer(buffer), sums, block, work.tile, first_pixel, at);
        }

        if (CHUNKS > 1 && more) {
            weight_buffer ^= 1;
            stage_weights(shared.weights(weight_buffer), block, next.chunk * kChunk);
        }
        if (BULK_STORE && STORE_BUFFERS == 2 && !STORE_WARPS) bulk_store_wait_read();
        if (work.last_chunk()) commit_buffer(buffer);
        compute_warps_meet();  // the store buffer is full, and all warps have read the patch
        if (work.last_chunk()) {
            if (!STORE_WARPS) store_tile(shared.store_buffer(buffer), block, work.tile, threadIdx.x, THREADS);
            buffer = (buffer + 1) % STORE_BUFFERS;
            ++tiles_done;
        }
        if (!more) break;
        if (STAGES == 1) {
            load_patch(next_patch, block, next);
            convert_patch(next_patch, block.scales.input.power);
            compute_warps_meet();
        }
        work = next, stage = next_stage;
    }
    if (BULK_STORE && !STORE_WARPS) bulk_store_wait_read();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    conv2d_implicit_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ scales,
                         const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    const Shared shared = {memory};
    wait_for_launches();
    const Block block(x, weight, scales, bias, y, {EPILOGUE_ARGUMENTS});
    if (blockIdx.x >= TILES) return;
    if (STORE_WARPS && threadIdx.x >= kComputeThreads)
        store_tiles(shared, block);
    else
        compute_tiles(shared, block);
}

extern "C" __global__ void __launch_bounds__(512)
    conv2d_implicit_gemm_largest(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ scales) {
    find_largest_of_convolution(x, weight, scales);
}
