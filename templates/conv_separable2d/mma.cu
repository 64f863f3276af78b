// conv_separable2d on tensor cores by mma.sync (sm_80 on). The results of the depthwise convolution never leave
// registers.
//
// The pointwise convolution is a matrix product: its rows are output pixels, its columns output channels, and its k
// the input channels. Each lane computes the depthwise results of PLACES adjacent pixels and four of 16 input
// channels, which are exactly the lane's operands in mma.sync (mma.cuh).
//
// The input of a tile is copied to shared memory asynchronously, 16 channels at a time, up to STAGES - 1 copies
// ahead. A lane loads one vector for each row of its windows; if windows have three columns, lanes exchange elements
// at the borders by warp shuffles. The pointwise weights stay in shared memory. A lane stores PLACES adjacent pixels
// of each of its output channels.
//
// Blocks are persistent: each takes every gridDim.x-th tile, which is ACROSS * RUN output pixels wide.
//
// Tunables:
//   WARPS:         warps per block
//   ACROSS:        warps of a block side by side in a tile
//   RUN:           output pixels of a warp side by side
//   PLACES:        adjacent output pixels per lane
//   CHANNELS:      output channels per block
//   STAGES:        stages of the pipeline
//   BLOCKS_PER_SM: blocks per multiprocessor
#include "async_copy.cuh"
#include "compiled_sizes.cuh"
#include "element_mma.cuh"

namespace {

constexpr int kChunk = 16;  // channels
constexpr int kTaps = KERNEL_H * KERNEL_W;
constexpr int kLanesAcross = RUN / PLACES, kRows = 8 / kLanesAcross;  // of a warp
constexpr int kBlocks = PLACES / 2;                                   // of 16 rows, a warp's products
static_assert(W % LOAD_WIDTH == 0 && TILE_W % LOAD_WIDTH == 0 && (LEAD + PADDING_W) % LOAD_WIDTH == 0, "copies are aligned, and end within rows");

// ---- Shared memory holds the input stages, the pointwise weights and the depthwise weights.
//
// Rows are padded to avoid bank conflicts. The 16 channels of a stage are stored in the order in which lanes read
// them: channel 4 * (lane % 4) + i is at position 4 * i + lane % 4.

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

// ---- A block's steps: 16 input channels of a tile at a time, tile after tile.

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

// Window is one input row of a lane's windows, as vectors of kVector elements.
constexpr int kMostVector = 16 / sizeof(Element);
constexpr int kVector = PLACES * STRIDE_W % kMostVector == 0 ? kMostVector : PLACES * STRIDE_W % (kMostVector / 2) == 0 ? kMostVector / 2 : 2;
constexpr int kFirst = LEAD / kVector * kVector, kSkipped = LEAD % kVector, kEnd = kSkipped + (PLACES - 1) * STRIDE_W + SPAN_W;
constexpr int kVectors = (kEnd + kVector - 1) / kVector;
// kShuffled says that a lane gets elements of its neighbours' vectors by warp shuffles.
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

// add_up computes the depthwise sums of one channel at a lane's output pixels.
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

// ---- Products. 16 input channels take two mma.sync instructions in TF32, and one for 16-bit elements.

constexpr int kSteps = kOf16Bits ? 1 : 2;
typedef float Sums[kBlocks][CHANNELS / 8][4];
typedef unsigned Operand[kSteps][kBlocks][4];

// make_operand computes the depthwise sums of 16 channels as an mma.sync operand.
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

// multiply adds the products of 16 input channels to the accumulators.
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

// begin sets the accumulators to the bias, or to zero.
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

// store stores a lane's pixels of each of its output channels. The compiler does not split streaming stores into
// narrower ones.
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
