// convolution_tma_channels.cu: convolutions of up to three axes of channels-last tensors as matrix products on
// Hopper's warpgroup products (sm_90a). Rows are pixels of the output, columns are output channels; k is taps
// and, the faster, channels: as the weights lie, and the channels of each pixel that a tap reads.
//
// The idea. The pixels of all images are taken in boxes: RUN of a row, DOWN rows, IMAGES images. For one tap a box
// reads a box of the input, too, some pixels further on; with a stride it has every so many pixels. The copy engine
// brings 128 bytes of their channels by a tensor map, swizzled as products take them. What lies outside, as padding
// does, arrives as zeros. A tile is boxes that follow each other, a lane of the producer for each. Nothing is
// packed, no thread computes an input's address, and outputs leave as whole rows. Blocks of a cluster have pixels
// of their own and the same channels: each loads a part of the weights for all (multicast.cuh).
//
// A stage may have several taps: a row of the kernel, or its plane. They share one box, which is larger by its halo.
// The products of a tap begin some lines further on in it (channel_boxes_16bit.cuh).
//
// Groups of few channels are multiplied together, FOLD of them, so that their channels fill 128 bytes: weights
// that lead from one to another are zeros. Zero times an infinity is NaN; such outputs are added up again (mended.cuh).
//
// In math mode tf32 ties are rounded away, which the copy engine does not do. Consumers round pixels on their way
// through registers (ROWS_EXACT), or a launch before makes rounded ones (PIXELS_MADE). That launch makes
// weights, too: rounded, or with zeros between. With SCALED it makes fp16 of both, times powers of two that it guesses
// (guessed_scale.cuh): the same factors, at twice the rate. Another launch makes them again where a guess was wrong.
//
// What the tunables trade, but for those of slab_gemm.cuh:
//   RUN, DOWN, IMAGES  large boxes are fewer copies; small ones fit into what is to be computed
//   TAPS_ACROSS, TAPS_DOWN
//                      of a stage: more taps bring each pixel fewer times, where copies limit; their weights fill
//                      shared memory, and boxes are eight pixels across, whether that fits or not
//   LINE               bytes of a pixel's channels in a copy: 64 leave out zeros where channels are no multiple of 64
#define WHOLE_ROWS
constexpr int kBox = RUN * DOWN * IMAGES;  // pixels of the output
constexpr int kStageTaps = TAPS_ACROSS * TAPS_DOWN;
#include "channel_boxes.cuh"
#include "channels_output.cuh"
#include "guessed_scale.cuh"
#include "place.cuh"
#include "plain_convolution.cuh"

namespace {

constexpr int kTaps = kKernelVolume, kIn = C_GROUP * FOLD, kOut = C_OUT_GROUP * FOLD;  // channels of folded groups
constexpr int kChunks = (kIn + kAtomDepth - 1) / kAtomDepth;
constexpr bool kRounded = ROWS_EXACT || PIXELS_MADE;  // by threads, what is made
constexpr int kBoxes = TILE_M / kBox;
constexpr int kStageBytes = kAtoms * kBoxes * (BOX_ACROSS * BOX_DOWN * IMAGES) * kLineBytes + (KEPT ? 0 : STAGE_B_BYTES);  // that arrive
static_assert(kBox % 8 == 0 && TILE_M % kBox == 0 && kBoxes <= 32, "boxes begin at multiples of eight lines, a lane each");
constexpr int kShare = TILE_N / CLUSTER;  // columns of a tile that a block of a cluster loads for all
static_assert(kShare % 8 == 0, "a block's columns begin at multiples of eight lines");
static_assert(kTaps % kStageTaps == 0 && kTaps / kStageTaps * kChunks % kAtoms == 0, "stages have as many taps' channels each");

// Box is where a box begins; the image N, or one behind it, is behind the last.
struct Box {
    int w, h, d, n;
    __device__ __forceinline__ explicit Box(int index) {
        constexpr int across = (W_OUT + RUN - 1) / RUN, down = (H_OUT + DOWN - 1) / DOWN;
        w = index % across * RUN;
        h = index / across % down * DOWN;
        d = index / (across * down) % D_OUT;
        n = index / (across * down * D_OUT) * IMAGES;
    }
};

struct Pixels {
    __device__ __forceinline__ static long long of(int row) {
        const Box box(row / kBox);
        const int inside = row % kBox, w = box.w + inside % RUN, h = box.h + inside / RUN % DOWN, n = box.n + inside / (RUN * DOWN);
        return w < W_OUT && h < H_OUT && n < N ? ((static_cast<long long>(n) * D_OUT + box.d) * H_OUT + h) * W_OUT + w : -1;
    }
};

// PixelsOutput takes the factors' powers of two off again.
struct PixelsOutput : ChannelsOutput<Pixels, kOut> {
    struct Given {
        const Element* biases;
        float* scales;
    };
    float inverses[2];
    __device__ __forceinline__ PixelsOutput(const Tile& tile, const Given& given) : ChannelsOutput(tile, given.biases) {
        const GuessedScales scales = {given.scales};
        if (kScaled) inverses[0] = scales.inverse(the_input), inverses[1] = scales.inverse(the_weights);
    }
    __device__ __forceinline__ float value(float sum, int row, float bias) const {
        return ChannelsOutput::value(kScaled ? unscaled(sum, inverses[0], inverses[1]) : sum, row, bias);
    }
};

struct Work : ConvolutionWork {
    typedef MappedOperands Operands;
    typedef PixelsOutput Output;
    typedef PlainConvolution<float> Plain;
    static constexpr bool kMasked = FOLD > 1;
    static constexpr int kStages = kTaps / kStageTaps * kChunks / kAtoms;
    __device__ __forceinline__ static int groups() { return GROUPS / FOLD; }
};

// BoxProducer is a warp, whose lanes share the copies of a stage. Weights that are kept come with the first tile that
// has their stage.
struct BoxProducer {
    typedef BoxProducts Products;
    static_assert(!KEPT || (TILES_N == 1 && GROUPS == FOLD && CLUSTER == 1 && SPLITS == 1 && IN_TILE == Work::kStages && IN_TILE <= 64), "all tiles have the same weights");

    template <class Of>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const MappedOperands& operands) {
        const int lane = threadIdx.x % 32;
        operands.prefetch();
        Turn turn;
        unsigned long long brought = 0;  // stages whose weights stay
        for (TakenTiles<Of> taken; taken.more(); taken.next()) {
            const Tile tile = Tiles<Of>::at(taken.index);
            const Box box(tile.m * kBoxes + lane);
            for (int s = taken.stages.first; s < taken.stages.end; ++s, turn.next()) {
                const bool kept = KEPT && brought >> s % 64 & 1;
                if (KEPT) brought |= 1ull << s % 64;
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                Mbarrier *const full = pipeline.full(turn.slot), *const there = KEPT ? pipeline.kept(s) : full;
                if (lane == 0) mbarrier_expect(full, kStageBytes);
                if (KEPT && !kept && lane == 0) mbarrier_expect(there, STAGE_B_BYTES);
                __syncwarp();
                char *const stage = pipeline.stage(turn.slot), *const columns = pipeline.columns(turn.slot, s);
#pragma unroll
                for (int atom = 0; atom < kAtoms; ++atom) {
                    const int at = s * kAtoms + atom, channel = at % kChunks * kAtomDepth;
                    const int first_tap = at / kChunks * kStageTaps;
                    const Place tap(first_tap, KERNEL_H, KERNEL_W);
                    if (lane < kBoxes)
                        tensor_load(stage + (atom * kBoxes + lane) * (BOX_LINES * kLineBytes), operands.rows,
                                    {tile.group * kIn + channel, box.w * STRIDE_W + tap.w * DILATION_W - PADDING_W,
                                     box.h * STRIDE_H + tap.h * DILATION_H - PADDING_H, box.d * STRIDE_D + tap.d * DILATION_D - PADDING_D, box.n},
                                    full);
                    if (lane == 0 && !kept)
#pragma unroll
                        for (int t = 0; t < kStageTaps; ++t) {
                            const int first = rank_in_cluster() * kShare;
                            const int weights[3] = {channel, first_tap + t, tile.group * kOut + tile.n * TILE_N + first};
                            char* const to = columns + ((t * kAtoms + atom) * TILE_N + first) * kLineBytes;
                            if constexpr (CLUSTER > 1)
                                tensor_load_multicast(to, operands.columns, weights, there);
                            else
                                tensor_load(to, operands.columns, weights, there);
                        }
                }
            }
        }
    }
};

// made is a factor as products take it.
__device__ __forceinline__ float made(float x, const PowerScale& scale) {
    const float rounded = kRounded ? tf32_value(x) : x;
    return kScaled ? rounded * scale.power : rounded;
}

// make_weights makes weights of folded groups, with zeros between, and gives the largest of a thread's.
__device__ __forceinline__ unsigned make_weights(Factor* to, const Element* weight, const PowerScale& scale) {
    constexpr long long depth = static_cast<long long>(kIn) * kTaps;
    unsigned most = 0;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < C_OUT * depth; i += gridDim.x * 256ll) {
        const int channel = i % kIn, out = i / depth;
        const bool meet = channel / C_GROUP == out % kOut / C_OUT_GROUP;
        const float w = meet ? read_only(weight + i / kIn * C_GROUP + channel % C_GROUP) : 0.0f;
        to[i] = from_float<Factor>(made(w, scale));
        if (kScaled) most = max(most, as_magnitude(w));
    }
    return most;
}

constexpr long long kInputs = static_cast<long long>(C) * W * H * D * N, kWeights = static_cast<long long>(C_GROUP) * kTaps * C_OUT;

// make_pixels does the same of pixels.
__device__ __forceinline__ unsigned make_pixels(Factor* to, const Element* x, const PowerScale& scale) {
    constexpr int width = 16 / sizeof(Factor);  // of a vector: C is a multiple
    unsigned most = 0;
#pragma unroll 4
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < kInputs / width; i += gridDim.x * 256ll) {
        float v[width];
#pragma unroll
        for (int j = 0; j < width; j += 4) load_elements<4>(v + j, x + i * width + j);
#pragma unroll
        for (int j = 0; j < width; ++j) {
            if (kScaled) most = max(most, as_magnitude(v[j]));
            v[j] = made(v[j], scale);
        }
        store_elements<width>(to + i * width, v);
    }
    return most;
}

}  // namespace

// Makes the factors that are not taken as they are, and clears which warps have left sums (shared_tiles.cuh).
extern "C" __global__ void __launch_bounds__(256, 8)  // all at once
    convolution_tma_channels_make(const Element* __restrict__ x, const Element* __restrict__ weight, float* __restrict__ channel_scales,
                                  float* __restrict__ there, float* __restrict__ made_weight, float* __restrict__ made_pixels) {
    Factor *const weights = reinterpret_cast<Factor*>(made_weight), *const pixels = reinterpret_cast<Factor*>(made_pixels);
    if (SHARING > 0 && blockIdx.x == 0) LeftSums::clear(reinterpret_cast<int*>(there), BLOCKS);
    begin_dependents();
    if constexpr (kScaled) {
        const GuessedScales scales = {channel_scales};
        const unsigned samples[2] = {sampled(x, kInputs), sampled(weight, kWeights)};
        const PowerScale of_input = guessed_scale(samples[the_input]), of_weights = guessed_scale(samples[the_weights]);
        scales.leave(the_weights, of_weights, make_weights(weights, weight, of_weights));
        scales.leave(the_input, of_input, make_pixels(pixels, x, of_input));
    } else {
        if constexpr (WEIGHTS_MADE) make_weights(weights, weight, PowerScale(0));
        if constexpr (PIXELS_MADE) make_pixels(pixels, x, PowerScale(0));
    }
}

// What was made by a guess that does not hold is made again.
extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_channels_again(const Element* __restrict__ x, const Element* __restrict__ weight, float* channel_scales,
                                   float* made_weight, float* made_pixels) {
    begin_dependents();
    wait_for_launches();
    if constexpr (kScaled) {
        const GuessedScales scales = {channel_scales};
        const unsigned left[2] = {scales.left(the_input), scales.left(the_weights)};
        scales.again(the_weights, left[the_weights], [=](const PowerScale& scale) { make_weights(reinterpret_cast<Factor*>(made_weight), weight, scale); });
        scales.again(the_input, left[the_input], [=](const PowerScale& scale) { make_pixels(reinterpret_cast<Factor*>(made_pixels), x, scale); });
    }
}

#if SHARING > 0
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_channels(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, float* channel_scales,
                             const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                             Element* __restrict__ y, float* left, float* there) {
    extern __shared__ __align__(1024) uint4 memory[];
    slab_gemm<Work, BoxProducer>(reinterpret_cast<char*>(memory), {&rows, &columns}, {bias, channel_scales}, y, Work::Plain{x, weight, bias}, {left, reinterpret_cast<int*>(there)});
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_channels(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, float* channel_scales,
                             const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                             Stored* y) {
    extern __shared__ __align__(1024) uint4 memory[];
    slab_gemm<Work, BoxProducer>(reinterpret_cast<char*>(memory), {&rows, &columns}, {bias, channel_scales}, y, Work::Plain{x, weight, bias});
}
#endif

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_channels_sum(const float* partial_sums, const Element* __restrict__ x, const Element* __restrict__ weight,
                                 const Element* __restrict__ bias, Element* __restrict__ y) {
    sum_splits<Work::kMasked>(partial_sums, y, Work::outputs(), Work::Plain{x, weight, bias});
}
