// conv2d on tensor cores by mma.sync, as an implicit matrix product (sm_80 on).
//
// For each tap of the kernel, a convolution is a matrix product: output channels x input channels times input
// channels x pixels. The next tap multiplies pixels at a constant offset. The kernel loads each input tile (patch)
// into shared memory once, and every tap reads it at another offset, so that no im2col matrix is needed.
//
// The matrix product's rows are output channels (WARPS_M warps of WARP_M each), its columns are output pixels
// (WARPS_P warps of WARP_P each, STEP_P at a time), and its depth is the taps times the input channels.
//
// Input tiles are copied to shared memory asynchronously, a tile ahead if STAGES is 2. Each thread converts the
// elements that it copied, in place. In math mode tf32, elements are rounded to TF32; otherwise each element is
// scaled and split into two fp16 values, which give fp32 accuracy by three products. Weights stay in registers
// (WEIGHTS_IN_REGISTERS) or in shared memory. Outputs go through a store buffer in shared memory, so that long
// contiguous rows are stored together.
//
// Pixels are numbered as in virtual_plane.cuh, so that each tap adds a constant to the pixel's number.
//
// Blocks are persistent: each takes every gridDim.x-th tile. Compute warps load, convert and multiply; STORE_WARPS
// further warps only store and are synchronised by named barriers.
//
// LOAD_WIDTH is the number of floats per copy, and TAP_UNROLL the number of unrolled kernel rows.
//
// Tunables:
//   FLAT:            1: a tile is a contiguous sequence of output pixels that may cross row ends; 0: a rectangle
//   ALIGNMENT:       alignment in floats of a flat tile's stores; 8 stores whole sectors
//   WARPS_*, WARP_*: warps, and rows or columns per warp
//   STEP_P:          pixels that a warp multiplies at a time
//   STAGES:          input tiles in shared memory: 2: one is loaded while another is multiplied
//   STORE_BUFFERS:   2: one store buffer is filled while the other is stored
//   WEIGHTS_IN_REGISTERS: 1: registers hold the weights; 0: shared memory does
//   BULK_STORE:      1: TMA stores the outputs (sm_90); 0: threads store them
//   STORE_WARPS:     0: the compute warps store between two tiles
//   BLOCKS_PER_SM:   blocks per SM for which the compiler limits registers

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

// Sizes of an output tile, and of a warp's part of it.
constexpr int kChunk = 16;  // input channels
constexpr int kTilesInImage = TILES / N;
constexpr int kTilesM = TILES_M / GROUPS;  // in a group
constexpr int kFragmentsM = WARP_M / 16;
constexpr int kFragmentsP = STEP_P / 8;
constexpr int kSteps = WARP_P / STEP_P;
constexpr int kTapRowsUnrolled = WEIGHTS_IN_REGISTERS ? KERNEL_H : TAP_UNROLL;
static_assert(kSteps == 1 || CHUNKS == 1, "sums that wait for further channels must all be in registers");

// A patch is the input of a tile: PATCH_ROWS rows of PATCH_COLUMNS pixels, which are kPatchStep pixels apart in the
// padded input. With MERGED, rows of a patch that overlap are loaded only once.
constexpr int kPatchStep = !FLAT ? PITCH : DILATION_H * PITCH;
constexpr int kTapRow = !FLAT ? DILATION_H * PATCH_COLUMNS : MERGED ? DILATION_H * PITCH : PATCH_COLUMNS;
constexpr int kPatchVectors = PATCH_BYTES / 16;
static_assert(PATCH_COLUMNS % 4 == 0, "a patch is loaded in blocks of 4 pixels");
static_assert(W % LOAD_WIDTH == 0, "a copy must end within its row");

// Weights in shared memory take two 16-byte vectors per lane for each tap and each 16 output channels.
constexpr int kWeightVectors = WEIGHT_BYTES / 16;
constexpr int kKeptTaps = WEIGHTS_IN_REGISTERS ? kTaps : 1;
static_assert(!WEIGHTS_IN_REGISTERS || CHUNKS == 1, "registers hold the weights of one chunk");

// A store buffer holds TILE_H contiguous rows of each output channel. The stores of a flat tile begin at a 32-byte
// sector, which may be up to SLACK pixels before the tile's first output (run_shift).
constexpr int kRuns = TILE_M * TILE_H;
constexpr int kStoreFloats = STORE_BYTES / 4;
constexpr int kStoreWidth = RUN_ALIGNMENT % 4 == 0 ? 4 : RUN_ALIGNMENT % 2 == 0 ? 2 : 1;
static_assert(!BULK_STORE || kStoreWidth == 4, "the copy engine wants 16-byte aligned runs");
static_assert(ALIGNMENT == 1 || (FLAT && PLANE % 4 == 0), "shifted runs are for flat tiles of vectors");

// ---- Shared memory.

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

// Work is one iteration of the mainloop: 16 input channels of a tile.
struct Work {
    int index, chunk;
    Tile tile;
    __device__ __forceinline__ bool exists() const { return index < TILES; }
    __device__ __forceinline__ bool first_chunk() const { return CHUNKS == 1 || chunk == 0; }
    __device__ __forceinline__ bool last_chunk() const { return CHUNKS == 1 || chunk == CHUNKS - 1; }
    // next returns the tile's next 16 channels, or the first ones of the block's next tile.
    __device__ __forceinline__ Work next() const {
        if (!last_chunk()) return {index, chunk + 1, tile};
        const int next_index = index + static_cast<int>(gridDim.x);
        return {next_index, 0, next_index < TILES ? tile_at(next_index) : tile};
    }
};

// Block holds the tensors and the output channels that all tiles of a block share.
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
    // plane returns the index of an output channel among the channels of all images.
    __device__ __forceinline__ int plane(const Tile& tile, int row) const {
        return tile.image * C_OUT + group * C_OUT_GROUP + first_row + row;
    }
};

// Lane locates a lane's operands in a tile. lane / 4 is the lane's row of the weights and its pixel of the input;
// lane % 4 selects a quarter of the channels.
struct Lane {
    int lane, warp, warp_row, warp_pixel;
    __device__ __forceinline__ Lane()
        : lane(threadIdx.x % 32), warp(threadIdx.x / 32), warp_row(warp % WARPS_M * WARP_M),
          warp_pixel(warp / WARPS_M * WARP_P) {}
};

// run_shift returns by how many pixels the stores of an output channel begin early, to be aligned.
__device__ __forceinline__ int run_shift(int plane) {
    return SLACK == 0 ? 0 : plane * (PLANE % ALIGNMENT) & (ALIGNMENT - 1);
}

// ---- Loading and converting the input.

// patch_start returns the index, in the padded input, of the first pixel that the tile reads.
__device__ __forceinline__ int patch_start(const Tile& tile) {
    return (tile.y * STRIDE_H - PADDING_H) * PITCH + tile.x * STRIDE_W - PADDING_W;
}
__device__ __forceinline__ int patch_lead(const Tile& tile) { return patch_start(tile) & (LOAD_WIDTH - 1); }

// A PatchBlock is 4 pixels x 4 channels of the patch, 64 bytes, which one thread copies and later converts.
struct PatchBlock {
    int quarter, row, column;
    __device__ __forceinline__ explicit PatchBlock(int index)
        : quarter(index & 3), row((index >> 2) / (PATCH_COLUMNS / 4)), column((index >> 2) % (PATCH_COLUMNS / 4) * 4) {}
    // vector returns the index in the patch of the block's i-th 16-byte vector.
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

// operand converts four channels of a pixel to a lane's operand of mma.sync.
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

// WeightFragment is a lane's mma.sync operand for 16 output channels, 16 input channels and one tap.
struct WeightFragment {
    uint4 first, second;
};

// load_weights returns the operand for 16 output channels from first_row on, and 16 input channels from first_channel
// on.
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

// stage_weights writes the weights of 16 input channels to shared memory.
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

// tap_weights returns a tap's weights from registers or from shared memory.
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

// multiply adds one of the kProducts products of a tap to 16 x 8 accumulators. Callers alternate between
// accumulators, since successive products for the same accumulators wait for each other.
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

// multiply_tap adds a tap's products. `position` holds where the lane's pixels for the first tap lie in the patch;
// every other tap adds a constant offset.
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

// multiply_taps adds the products of all taps for STEP_P pixels from first_pixel on.
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

// ---- Epilogue: accumulators to a store buffer.

// add_bias adds the bias to a lane's accumulators of output channels `row` and `row` + 8.
__device__ __forceinline__ void add_bias(float (&sums)[kFragmentsP][4], const float* bias, int row) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int channel = row + i / 2 * 8;
        const float offset = channel < C_OUT_GROUP ? __ldg(bias + channel) : 0.0f;
#pragma unroll
        for (int t = 0; t < kFragmentsP; ++t) sums[t][i] += offset;
    }
}

// place_of locates an output pixel of a channel in the tensor.
__device__ __forceinline__ RowPlace place_of(const Block& block, const Tile& tile, int row, int pixel) {
    const int plane = block.plane(tile, smaller(row, C_OUT_GROUP - 1 - block.first_row));
    const int channel = plane - tile.image * C_OUT;
    if (FLAT) return {tile.image, channel, plane, 0, 1, tile.first - tile.lead + pixel, PLANE};
    return {tile.image, channel, plane, tile.y + pixel / TILE_W, H_OUT, tile.x + pixel % TILE_W, W_OUT};
}

// finish applies the epilogue to a lane's accumulators of two output channels.
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

// write_row writes a lane's accumulators of one output channel to the store buffer.
__device__ __forceinline__ void write_row(float* to, const float (&sums)[kFragmentsP][4], int half, int first_place) {
#pragma unroll
    for (int t = 0; t < kFragmentsP; ++t) {
        const int place = first_place + 8 * t;
        if (SLACK > 0 && (place < 0 || place >= RUN)) continue;
        *reinterpret_cast<float2*>(to + place) = make_float2(sums[t][2 * half], sums[t][2 * half + 1]);
    }
}

// write_sums writes the accumulators of STEP_P pixels, from first_pixel on, to the store buffer.
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

// Run is a contiguous part of an output channel that a tile stores: the floats from `begin` to `end`.
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

// store_vectors loads several vectors before it stores them, to hide the latency of shared memory.
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

// store_tile stores a tile from the store buffer; `thread` is this thread's index among the `threads` storing
// threads.
__device__ __forceinline__ void store_tile(const float* store_buffer, const Block& block, const Tile& tile, int thread,
                                           int threads) {
    if (BULK_STORE)
        bulk_store_runs(store_buffer, block, tile, thread, threads);
    else
        store_vectors(store_buffer, block, tile, thread, threads);
}

// ---- Named barriers: one for the compute warps, and a full and a free barrier for each store buffer.

constexpr int kComputeMeet = 1, kBufferFull = 2, kBufferFree = kBufferFull + STORE_BUFFERS;

__device__ __forceinline__ void compute_warps_meet() {
    if (STORE_WARPS)
        named_barrier_wait(kComputeMeet, kComputeThreads);
    else
        __syncthreads();
}

// acquire_buffer waits until the store buffer's old content has been stored.
__device__ __forceinline__ void acquire_buffer(int buffer, int tiles_done) {
    if (STORE_WARPS) {
        if (tiles_done >= STORE_BUFFERS) named_barrier_wait(kBufferFree + buffer, THREADS);
    } else if (STORE_BUFFERS == 1) {
        if (BULK_STORE) bulk_store_wait_read();
        __syncthreads();
    }
}

// commit_buffer hands a full store buffer to TMA or to the store warps.
__device__ __forceinline__ void commit_buffer(int buffer) {
    if (BULK_STORE) publish_to_async_proxy();
    if (STORE_WARPS) named_barrier_arrive(kBufferFull + buffer, THREADS);
}

// store_tiles is the loop of the store warps.
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

            // The copies of the next patch have arrived, so it can be converted.
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
