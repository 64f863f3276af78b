// conv_separable2d on tensor cores (mma.sync, sm_80 on): the result of the depthwise convolution never leaves
// registers.
//
// Idea: the pointwise convolution is a matrix product whose rows are output places, whose columns are output channels,
// and whose k is the input channels. A lane of a warp holds the operands of a few rows and a few k (mma.cuh). The
// places can be assigned to the product's rows, and the channels to k, in any order. Therefore a lane gets PLACES
// adjacent places and four channels of 16, and computes their depthwise sums itself. The rounded sums are already in
// the registers of the product's operand. The product's results in a lane also belong to PLACES adjacent places, which
// are stored together.
//
// The data flow:
//   1. Device memory -> shared memory, asynchronously, STAGES - 1 chunks ahead, across
//      tiles, too: the patch of 16 channels that a tile's windows cover, with zeros for padding. The patch begins LEAD
//      elements early, so that copies are aligned.
//   2. Shared memory -> registers: the rows of a lane's windows, one vector per row. Windows of 3 columns
//      get the elements that they need of neighbouring vectors by warp shuffles.
//   3. A warp computes depthwise sums and multiplies them by the weights of all of the block's channels,
//      which stay in shared memory.
//   4. Registers -> device memory: lanes side by side store RUN adjacent places of a channel.
//
// Blocks are persistent: each takes every gridDim.x-th tile, which is ACROSS * RUN places wide; its number of rows
// follows from the number of warps.
//
// Tunables and their trade-offs:
//   WARPS:         more places per tile: less halo around a tile, but fewer independent blocks.
//   ACROSS, RUN:   warps side by side, and places of a warp side by side: longer stores, but more rows that
//                  two tiles read.
//   PLACES:        places per lane: weights are read less often, but sums take more registers.
//   CHANNELS:      output channels of a block: they share depthwise sums, but take registers.
//   STAGES:        stages of the pipeline of chunks.
//   BLOCKS_PER_SM: blocks per multiprocessor: one stores while another multiplies.
#include "async_copy.cuh"
#include "compiled_sizes.cuh"
#include "element_mma.cuh"

namespace {

constexpr int kChunk = 16;  // channels
constexpr int kTaps = KERNEL_H * KERNEL_W;
constexpr int kLanesAcross = RUN / PLACES, kRows = 8 / kLanesAcross;  // of a warp
constexpr int kBlocks = PLACES / 2;                                   // of 16 rows, a warp's products
static_assert(W % LOAD_WIDTH == 0 && TILE_W % LOAD_WIDTH == 0 && (LEAD + PADDING_W) % LOAD_WIDTH == 0, "copies are aligned, and end within rows");

// ---- Shared memory holds the pipeline, the pointwise weights and the depthwise weights.
//
// The pitches of planes and of rows of weights keep the lanes of an access in different banks. A chunk's channels are
// stored in the order in which lanes read them: the lane with remainder lane % 4 reads the channels 4 * (lane % 4) + i,
// which are at the positions 4 * i + lane % 4.

struct Shared {
    char* memory;
    __device__ __forceinline__ char* stage(int i) const { return memory + i * STAGE_BYTES; }
    __device__ __forceinline__ Element* pointwise() const { return reinterpret_cast<Element*>(memory + STAGES * STAGE_BYTES); }
    __device__ __forceinline__ float* taps() const { return reinterpret_cast<float*>(memory + STAGES * STAGE_BYTES + WEIGHT_BYTES); }
};

__device__ __forceinline__ void stage_weights(const Shared& shared, const Weights& weights, int first) {
    for (int i = threadIdx.x; i < CHANNELS * WEIGHT_PITCH; i += THREADS) {
        const int to = first + i / WEIGHT_PITCH, from = i % WEIGHT_PITCH;
        shared.pointwise()[i] = from_float<Element>(to < C_OUT && from < C ? factor(read_only(weights.pointwise + to * C + from)) : 0.0f);
    }
    for (int i = threadIdx.x; i < CHUNKS * kChunk * TAP_PITCH; i += THREADS) {
        const int tap = i % TAP_PITCH, position = i / TAP_PITCH, channel = position / kChunk * kChunk + position % 4 * 4 + position / 4 % 4;
        float weight = 0;
        if (channel < C && tap < kTaps) weight = read_only(weights.depthwise + channel * kTaps + tap);
        if (BIAS && channel < C && tap == kTaps) weight = read_only(weights.depthwise_bias + channel);
        shared.taps()[i] = weight;
    }
}

// ---- A block's steps: the chunks of its tiles, one after the other.

struct Tile {
    int image, y, x;
    __device__ __forceinline__ explicit Tile(int index)
        : image(index / (TILES_X * TILES_Y)), y(index / TILES_X % TILES_Y * TILE_H), x(index % TILES_X * TILE_W) {}
};

struct Step {
    int tile, chunk;
    __device__ __forceinline__ bool exists() const { return tile < TILES; }
    __device__ __forceinline__ Step next() const {
        return chunk + 1 < CHUNKS ? Step{tile, chunk + 1} : Step{tile + static_cast<int>(gridDim.x), 0};
    }
};

__device__ __forceinline__ void copy(Element* to, const Element* from, bool there) {
    constexpr int bytes = LOAD_WIDTH * sizeof(Element);
    if constexpr (bytes >= 4)
        async_copy_cached<bytes>(to, from, there);  // one request per line, not one per 16 bytes
    else
        *to = there ? *from : from_float<Element>(0.0f);
}

__device__ __forceinline__ void load_patch(char* stage, const Element* x, const Step& step) {
    constexpr int across = PATCH_PITCH / LOAD_WIDTH, copies = PATCH_ROWS * across;  // in a plane
    constexpr long long plane = static_cast<long long>(H) * W;
    const Tile tile(step.tile);
    const int first = step.chunk * kChunk, top = tile.y * STRIDE_H - PADDING_H, left = tile.x * STRIDE_W - PADDING_W - LEAD;
    const Element* const planes = x + (static_cast<long long>(tile.image) * C + first) * plane;
    for (int i = threadIdx.x; i < 4 * copies; i += THREADS) {
        const int column = i % across * LOAD_WIDTH, row = i / across % PATCH_ROWS, quarter = i / copies;
        const bool inside = static_cast<unsigned>(top + row) < H && static_cast<unsigned>(left + column) < W;
        const Element* const from = inside ? planes + 4 * quarter * plane + (top + row) * W + left + column : x;
        char* const to = stage + quarter * PLANE_BYTES + (row * PATCH_PITCH + column) * sizeof(Element);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const bool exists = C % kChunk == 0 || first + 4 * quarter + k < C;
            copy(reinterpret_cast<Element*>(to + 4 * k * PLANE_BYTES), exists ? from + k * plane : x, inside && exists);
        }
    }
}

struct Lane {
    int quarter, column, row;  // quarter of 16 channels; place in the tile
    bool first, last;          // in a run
    __device__ __forceinline__ Lane() : quarter(threadIdx.x % 4) {
        const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, across = group % kLanesAcross;
        column = warp % ACROSS * RUN + across * PLACES, row = warp / ACROSS * kRows + group / kLanesAcross;
        first = across == 0, last = across == kLanesAcross - 1;
    }
};

// ---- Depthwise sums.

// Window is one row of the input that a lane's windows cover, in vectors of kVector elements from kFirst on.
constexpr int kMostVector = 16 / sizeof(Element);
constexpr int kVector = PLACES * STRIDE_W % kMostVector == 0 ? kMostVector : PLACES * STRIDE_W % (kMostVector / 2) == 0 ? kMostVector / 2 : 2;
constexpr int kFirst = LEAD / kVector * kVector, kSkipped = LEAD % kVector, kEnd = kSkipped + (PLACES - 1) * STRIDE_W + SPAN_W;
constexpr int kVectors = (kEnd + kVector - 1) / kVector;
// kShuffled says that a lane gets one element of each neighbour's vector by shuffles.
constexpr bool kShuffled = kLanesAcross > 1 && STRIDE_W == 1 && kVector == PLACES && kSkipped == kVector - 1 && kEnd == 2 * kVector + 1;

struct Window {
    float at[kVectors * kVector];
    __device__ __forceinline__ Window(const Element* row, const Lane& lane) {
        if constexpr (kShuffled) {
            float middle[kVector], edge = 0;
            load_elements<kVector>(middle, row + kVector);
            if (lane.first || lane.last) edge = to_float(row[lane.first ? kVector - 1 : 2 * kVector]);
            const float left = __shfl_up_sync(0xffffffffu, middle[kVector - 1], 4), right = __shfl_down_sync(0xffffffffu, middle[0], 4);
            at[kVector - 1] = lane.first ? edge : left;
            at[2 * kVector] = lane.last ? edge : right;
#pragma unroll
            for (int i = 0; i < kVector; ++i) at[kVector + i] = middle[i];
        } else {
#pragma unroll
            for (int i = 0; i < kVectors; ++i) load_elements<kVector>(at + i * kVector, row + i * kVector);
        }
    }
};

constexpr bool kUnrolled = kTaps <= 25;
constexpr int kTapRows = kUnrolled ? KERNEL_H : 1;  // rows unrolled at once; nvcc expands no macro in a pragma

// add_up computes the depthwise sums of a channel at a lane's places.
__device__ __forceinline__ void add_up(float (&sums)[PLACES], const Element* from, const float* taps, const Lane& lane) {
    float kept[kUnrolled ? TAP_PITCH : 1];
    if constexpr (kUnrolled) {
#pragma unroll
        for (int i = 0; i < kTaps + BIAS; i += 4) load_vector<4>(kept + i, taps + i);
    }
#pragma unroll
    for (int p = 0; p < PLACES; ++p) sums[p] = !BIAS ? 0.0f : kUnrolled ? kept[kUnrolled ? kTaps : 0] : taps[kTaps];
#pragma unroll kTapRows
    for (int ky = 0; ky < KERNEL_H; ++ky) {
        const Window window(from + ky * (DILATION_H * PATCH_PITCH), lane);
#pragma unroll
        for (int kx = 0; kx < KERNEL_W; ++kx) {
            const float tap = kUnrolled ? kept[kUnrolled ? ky * KERNEL_W + kx : 0] : taps[ky * KERNEL_W + kx];
#pragma unroll
            for (int p = 0; p < PLACES; ++p) sums[p] = fmaf(window.at[kSkipped + p * STRIDE_W + kx * DILATION_W], tap, sums[p]);
        }
    }
}

// ---- Products. Multiplying a chunk of 16 channels takes two tensor-core products in TF32, or one for 16-bit elements.

constexpr int kSteps = kOf16Bits ? 1 : 2;
typedef float Sums[kBlocks][CHANNELS / 8][4];
typedef unsigned Operand[kSteps][kBlocks][4];

// make_operand computes the depthwise sums of a chunk as a product's operand.
template <class T>
__device__ __forceinline__ void make_operand(Operand& a, const char* stage, const float* taps, const Lane& lane) {
    const int offset = lane.row * (STRIDE_H * PATCH_PITCH) + lane.column * STRIDE_W + kFirst;
    float even[PLACES];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int position = 4 * i + lane.quarter;
        float sums[PLACES];
        add_up(sums, reinterpret_cast<const T*>(stage + position * PLANE_BYTES) + offset, taps + position * TAP_PITCH, lane);
#pragma unroll
        for (int p = 0; p < PLACES; ++p) {
            if constexpr (sizeof(T) == 2) {
                if (i % 2 == 1) a[0][p / 2][i / 2 * 2 + p % 2] = Pair<T>::pack(even[p], sums[p]);
                even[p] = sums[p];
            } else {
                a[kSteps * i / 4][p / 2][i % 2 * 2 + p % 2] = round_to_tf32(sums[p]);
            }
        }
    }
}

// multiply adds the products of a chunk to the sums; `weights` are the weights of the chunk's channels.
__device__ __forceinline__ void multiply(Sums& sums, const Operand& a, const Element* weights) {
    const int group = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < CHANNELS / 8; ++j) {
        float four[2 * kSteps];
        load_vector<2 * kSteps>(four, reinterpret_cast<const float*>(weights + (8 * j + group) * WEIGHT_PITCH + 4 * quarter));
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            const unsigned b[2] = {__float_as_uint(four[2 * step]), __float_as_uint(four[2 * step + 1])};
#pragma unroll
            for (int block = 0; block < kBlocks; ++block) multiply_elements(sums[block][j], a[step][block], b);
        }
    }
}

// begin initialises the sums with the biases, or with zeros.
__device__ __forceinline__ void begin(Sums& sums, const Element* bias, int first, const Lane& lane) {
#pragma unroll
    for (int j = 0; j < CHANNELS / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const int channel = first + 8 * j + 2 * lane.quarter + e;
            const float value = BIAS && channel < C_OUT ? read_only(bias + channel) : 0.0f;
#pragma unroll
            for (int block = 0; block < kBlocks; ++block) sums[block][j][e] = sums[block][j][2 + e] = value;
        }
}

// store stores a lane's outputs: its places in each of its output channels. Streaming stores suit outputs that are not
// read soon, and the compiler does not split streaming stores into narrower ones.
__device__ __forceinline__ void store(Element* y, const Sums& sums, const Tile& tile, int first, const Lane& lane,
                                      const Epilogue& epilogue) {
    constexpr int most = PLACES < kMostVector ? PLACES : kMostVector;
    constexpr int width = W_OUT % most == 0 ? most : W_OUT % 4 == 0 && most > 4 ? 4 : W_OUT % 2 == 0 ? 2 : 1;
    constexpr long long plane = static_cast<long long>(H_OUT) * W_OUT;
    const int row = tile.y + lane.row, column = tile.x + lane.column, channel = first + 2 * lane.quarter;
    if (row >= H_OUT) return;
    Element* const to = y + (static_cast<long long>(tile.image) * C_OUT + channel) * plane + row * W_OUT + column;
#pragma unroll
    for (int j = 0; j < CHANNELS / 8; ++j) {
        Epilogue::Loaded<PLACES, Coordinates<4>> beside[2];  // of both channels before the first is used
        if constexpr (!Epilogue::kIsNone) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int of = channel + 8 * j + e < C_OUT ? channel + 8 * j + e : C_OUT - 1;
                beside[e] = epilogue.load<PLACES>(Coordinates<4>{{tile.image, of, row, column}, {N, C_OUT, H_OUT, W_OUT}});
            }
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            if (C_OUT % CHANNELS != 0 && channel + 8 * j + e >= C_OUT) continue;
            float line[PLACES];
#pragma unroll
            for (int p = 0; p < PLACES; ++p) line[p] = sums[p / 2][j][p % 2 * 2 + e];
            epilogue.apply(line, beside[e]);
#pragma unroll
            for (int p = 0; p < PLACES; p += width)
                if (W_OUT % TILE_W == 0 || column + p < W_OUT) store_elements<width, true>(to + (8 * j + e) * plane + p, line + p);
        }
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    conv_separable2d_mma(const Element* __restrict__ x, const Element* __restrict__ depthwise, const Element* __restrict__ depthwise_bias,
                         const Element* __restrict__ pointwise, const Element* __restrict__ pointwise_bias, Element* __restrict__ y
                         EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    const Shared shared = {reinterpret_cast<char*>(memory)};
    const Lane lane;
    const int first = blockIdx.y * CHANNELS;

    Step ahead = {static_cast<int>(blockIdx.x), 0};
#pragma unroll
    for (int i = 0; i < STAGES - 1; ++i, ahead = ahead.next()) {
        if (ahead.exists()) load_patch(shared.stage(i), x, ahead);
        async_copy_commit();
    }
    stage_weights(shared, weights_of(depthwise, depthwise_bias, pointwise, pointwise_bias), first);

    int stage = 0;
    for (int index = blockIdx.x; index < TILES; index += gridDim.x) {
        Sums sums;
        begin(sums, pointwise_bias, first, lane);
#pragma unroll 1
        for (int chunk = 0; chunk < CHUNKS; ++chunk, ahead = ahead.next()) {
            async_copy_wait<STAGES - 2>();
            __syncthreads();  // the chunk has arrived, and all warps have read the stage of the last one
            if (ahead.exists()) load_patch(shared.stage(stage > 0 ? stage - 1 : STAGES - 1), x, ahead);
            async_copy_commit();

            Operand a;
            make_operand<Element>(a, shared.stage(stage), shared.taps() + chunk * (kChunk * TAP_PITCH), lane);
            multiply(sums, a, shared.pointwise() + chunk * kChunk);
            stage = stage + 1 < STAGES ? stage + 1 : 0;
        }
        store(y, sums, Tile(index), first, lane, {EPILOGUE_ARGUMENTS});
    }
}
