// convolution_tma_channels.cu: convolutions of up to three axes on channels-last tensors as matrix products on Hopper's
// warpgroup products (sm_90a). Transposed convolutions are computed by phases (phases.cuh). Rows of the product are
// output pixels, columns are output channels, and k is taps and input channels, with channels varying fastest, which is
// the order in memory of the weights and of the channels that a tap reads.
//
// Idea: the output pixels of all images are divided into boxes: RUN pixels of a row, DOWN rows, IMAGES images. For one
// tap a box of outputs reads a box of the input, too, at an offset; with a stride, the box has only every stride-th
// pixel. The copy engine loads 128 bytes of the pixels' channels by a tensor map, swizzled as products need them.
// Pixels outside of the input, as in the padding, arrive as zeros. A tile consists of consecutive boxes, each loaded by
// one lane of the producer. Nothing is packed, no thread computes an input's address, and outputs are stored as whole
// rows. The blocks of a cluster compute different pixels and the same channels: each block loads a part of the weights
// for all (multicast.cuh).
//
// A stage may contain several taps: a row of the kernel, or a plane of it. The taps of a stage share one box, which
// includes their halo. The products of a tap begin some lines further on in the box (BoxProducts).
//
// Groups of few channels are folded: FOLD groups are multiplied together, so that their channels fill 128 bytes.
// Among folded groups, the weights between different groups are zeros. As zero times infinity is NaN, outputs that are
// not finite are computed again (mended.cuh).
//
// Math mode tf32 rounds ties away from zero, which the copy engine cannot do. In math mode tf32, consumers therefore
// round pixels on their way through registers (ROWS_EXACT), or a first launch rounds pixels in memory (PIXELS_MADE).
// The first launch also prepares weights: it rounds them, inserts the zeros between folded groups, or reorders the
// weights of a transposed convolution along k. For 16-bit elements products can also read weights across k
// (COLUMNS_ALONG_K = 0): then a line of a box is 64 output channels of one input channel. With SCALED the first launch
// scales input and weights by powers of two that it guesses (guessed_scale.cuh), and converts them to fp16: they keep
// all their bits, and products are twice as fast. Another launch converts input and weights again if a guess was wrong.
//
// The tunables and their trade-offs, besides those of slab_gemm.cuh:
//   RUN, DOWN, IMAGES: large boxes need fewer copies; small ones fit better into the output.
//   TAPS_ACROSS, TAPS_DOWN
//                      taps in a stage: more taps load each pixel fewer times, if copies limit the speed; but their
//                      weights fill shared memory, and boxes must be eight pixels across, even if that fits badly.
//   LINE:              bytes of a pixel's channels per copy: 64 avoid padding if channels are no multiple of 64.
//
// op.yaml derives these values: BOX, the outputs of a box; BOX_ACROSS and BOX_DOWN, its pixels including the halo;
// BOX_LINES, its lines in shared memory; BOXES, the boxes of a stage; CHUNKS, the number of boxes for all channels;
// IN_TILE, the maximum number of stages of a tile.
#include "guessed_scale.cuh"
#include "mapped_operands.cuh"
#include "phases.cuh"
#include "plain_convolution.cuh"

namespace {

template <bool Scaled>
struct FactorOf {
    typedef Element Type;
};
template <>
struct FactorOf<true> {
    typedef f16 Type;
};
typedef FactorOf<SCALED>::Type Factor;

constexpr int kStageTaps = TAPS_ACROSS * TAPS_DOWN;
constexpr bool kRounded = ROWS_EXACT || PIXELS_MADE;  // whether threads round the converted factors
constexpr int kBoxes = TILE_M / BOX;
constexpr int kArriving = BOXES * BOX_ACROSS * BOX_DOWN * IMAGES * kLineBytes + STAGE_BYTES - STAGE_A_BYTES;  // bytes
static_assert(BOX % 8 == 0 && TILE_M % BOX == 0 && kBoxes <= 32, "boxes begin at multiples of eight lines, a lane each");
constexpr int kShare = TILE_N / CLUSTER;  // columns of a tile that each block of a cluster loads
static_assert(kShare % (COLUMNS_ALONG_K ? 8 : 64) == 0, "a block's columns begin at multiples of eight lines, or are in boxes of their own");
static_assert((kEvenPhases || kStageTaps == 1) && kPhaseTaps % kStageTaps == 0 && (kEvenPhases ? kPhaseTaps / kStageTaps : 1) * CHUNKS % kAtoms == 0,
              "stages have as many taps' channels each");

// Box computes where a box of a phase's outputs begins; boxes after the last one get image N or a later one.
struct Box {
    int w, h, d, n;
    __device__ __forceinline__ explicit Box(int index) {
        constexpr int across = (PhaseW::kOutputs + RUN - 1) / RUN, down = (PhaseH::kOutputs + DOWN - 1) / DOWN, slices = PhaseD::kOutputs;
        w = index % across * RUN;
        h = index / across % down * DOWN;
        d = index / (across * down) % slices;
        n = index / (across * down * slices) * IMAGES;
    }
};

struct Pixels {
    __device__ __forceinline__ static long long of(int row) {
        const PhaseTile tile(row / TILE_M);
        const Box box(tile.m * kBoxes + row % TILE_M / BOX);
        const int inside = row % BOX, w = box.w + inside % RUN, h = box.h + inside / RUN % DOWN, n = box.n + inside / (RUN * DOWN);
        const bool there = w < PhaseW::kOutputs && h < PhaseH::kOutputs;
        return there ? phase_pixel(tile.phase, n, box.d, h, w) : -1;
    }
};

// PixelsOutput divides sums by the powers of two that scaled input and weights.
struct PixelsOutput : PhasesOutput<Pixels> {
    struct Given : TileGiven {
        float* scales;
    };
    float inverses[2];
    __device__ __forceinline__ PixelsOutput(const Tile& tile, const Given& given) : PhasesOutput(tile, given) {
        const GuessedScales scales = {given.scales};
        if (kScaled) inverses[0] = scales.inverse(the_input), inverses[1] = scales.inverse(the_weights);
    }
    __device__ __forceinline__ float value(float sum, int row, float bias) const {
        return PhasesOutput::value(kScaled ? unscaled(sum, inverses[0], inverses[1]) : sum, row, bias);
    }
};

struct Work : ConvolutionWork {
    typedef MappedOperands Operands;
    typedef PixelsOutput Output;
    typedef PlainConvolution<float, TileEpilogue> Plain;
    static constexpr bool kMasked = FOLD > 1;
    __device__ __forceinline__ static constexpr int stages(int taps) { return taps / kStageTaps * CHUNKS / kAtoms; }
    static constexpr int kStages = IN_TILE;
    static constexpr bool kRowsAlongK = true, kColumnsAlongK = COLUMNS_ALONG_K;
    __device__ __forceinline__ static int groups() { return GROUPS / FOLD; }
};

}  // namespace

template <>
struct TileStages<Work> {
    __device__ __forceinline__ static Stages of(const Tile& tile) { return phase_stages<Work>(tile); }
};

namespace {

// BoxProducts loads floats into registers to round them, if they are not rounded yet. If no rounding is needed, the
// taps of a stage share its boxes, and a tap's products begin some lines further on, at any line. Eight rows of a
// product are eight pixels of an image row. The next eight rows of the product are the pixels below, one row of the box
// further on: a product needs the same distance between all groups of eight rows.
template <bool Exact>
struct BoxProducts : MappedProducts<true> {};
template <>
struct BoxProducts<false> {
    static constexpr bool kFromRegisters = false;
    static constexpr int kBlockBytes = kBlockRows * BOX_LINES / BOX * kLineBytes;  // bytes of 64 rows
    static constexpr bool kShared = kStageTaps > 1;
    static constexpr int kApart = !kShared ? 0 : DOWN == 1 ? BOX_LINES : BOX_ACROSS;  // lines from eight rows to the next
    static_assert(!kShared || (RUN == 8 && IMAGES == 1 && (DOWN == 1 || DOWN == 8 || BOX_LINES == DOWN * BOX_ACROSS)), "all of a product's rows are as far apart");

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns, int /*index*/, int block, int column) {
        typedef Lines<COLUMNS_ALONG_K, TILE_N> Columns;
        typedef SwizzledLines<true, kLineBytes> Rows;
        wgmma_fence();
#pragma unroll
        for (int tap = 0; tap < kStageTaps; ++tap)
#pragma unroll
            for (int p = 0; p < kStageProducts; ++p)
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r) {
                    const int further = tap / TAPS_ACROSS * TAP_STEP_H * BOX_ACROSS + tap % TAPS_ACROSS * TAP_STEP_W;
                    const char* const rows = stage + p / kLineProducts * (TILE_M / kBlockRows * kBlockBytes) + (block + r) * kBlockBytes;
                    wgmma<kFactors, COLUMNS>(
                        sums[r], Rows(rows + further * kLineBytes, p % kLineProducts, kApart * kLineBytes),
                        Columns::at(columns + tap * (Columns::kBoxes * Columns::kBoxBytes), column, p));
                }
    }
};

// BoxProducer is the producer warp, whose lanes share the copies of a stage. Weights that stay in shared memory (KEPT)
// are loaded with the first tile that needs their stage.
struct BoxProducer {
    typedef BoxProducts<ROWS_EXACT> Products;

    // load_columns loads a block's share of a tap's weights, in one box. If output channels are contiguous in memory,
    // load_columns loads boxes of 64 output channels, which are followed in shared memory by the boxes for other atoms
    // (groups) of input channels.
    __device__ __forceinline__ static void load_columns(char* to, const TensorMap* map, const Tile& tile, int atom, int channel, int tap, Mbarrier* there) {
        constexpr int boxed = COLUMNS_ALONG_K ? kShare : 64;
#pragma unroll
        for (int box = 0; box < kShare; box += boxed) {
            const int of_tile = rank_in_cluster() * kShare + box, column = tile.n * TILE_N + of_tile;
            const int along[3] = {channel, tap, tile.group * kGroupColumns + column}, across[3] = {column, tap, tile.group * kChannelsIn + channel};
            const int(&at)[3] = COLUMNS_ALONG_K ? along : across;
            char* const place = to + (COLUMNS_ALONG_K ? atom * TILE_N + of_tile : of_tile * kAtoms + atom * kAtomDepth) * kLineBytes;
            if constexpr (CLUSTER > 1)
                tensor_load_multicast(place, map, at, there);
            else
                tensor_load(place, map, at, there);
        }
    }
    static_assert(!KEPT || (TILES_N == 1 && GROUPS == FOLD && kTilePhases == 1 && CLUSTER == 1 && SPLITS == 1 && IN_TILE <= 64), "all tiles have the same weights");

    template <class Of>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const MappedOperands& operands) {
        const int lane = threadIdx.x % 32;
        operands.prefetch();
        Turn turn;
        unsigned long long brought = 0;  // bit set of stages whose weights are loaded
        for (TakenTiles<Of> taken; taken.more(); taken.next()) {
            const Tile tile = Tiles<Of>::at(taken.index);
            const PhaseTile place(tile.m);
            const Phase phase(place.phase);
            const Box box(place.m * kBoxes + lane);
            for (int s = taken.stages.first; s < taken.stages.end; ++s, turn.next()) {
                const bool kept = KEPT && brought >> s % 64 & 1;
                if (KEPT) brought |= 1ull << s % 64;
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                Mbarrier *const full = pipeline.full(turn.slot), *const there = KEPT ? pipeline.kept(s) : full;
                if (lane == 0) mbarrier_expect(full, kArriving);
                if (KEPT && !kept && lane == 0) mbarrier_expect(there, WEIGHT_BYTES);
                __syncwarp();
                char *const stage = pipeline.stage(turn.slot), *const columns = pipeline.columns(turn.slot, s);
#pragma unroll
                for (int atom = 0; atom < kAtoms; ++atom) {
                    const int at = s * kAtoms + atom, channel = at % CHUNKS * kAtomDepth;
                    const int first_tap = at / CHUNKS * kStageTaps;
                    const Place tap = phase.place(first_tap);
                    if (lane < kBoxes)
                        tensor_load(stage + (atom * kBoxes + lane) * (BOX_LINES * kLineBytes), operands.rows,
                                    {tile.group * kChannelsIn + channel, phase.w.input(box.w, tap.w), phase.h.input(box.h, tap.h),
                                     phase.d.input(box.d, tap.d), box.n},
                                    full);
                    if (lane == 0 && !kept)
#pragma unroll
                        for (int t = 0; t < kStageTaps; ++t)
                            load_columns(columns + t * (kAtoms * TILE_N * kLineBytes), operands.columns, tile, atom, channel,
                                         phase.tap(phase.place(first_tap + t)), there);
                }
            }
        }
    }
};

// made converts an element of the input or a weight to the form that products take.
__device__ __forceinline__ float made(float x, const PowerScale& scale) {
    const float rounded = kRounded ? tf32_value(x) : x;
    return kScaled ? rounded * scale.power : rounded;
}

// make_weights converts weights, with zeros between folded groups, and returns the largest magnitude that the thread
// found.
__device__ __forceinline__ unsigned make_weights(Factor* to, const Element* weight, const PowerScale& scale) {
    constexpr long long depth = static_cast<long long>(kChannelsIn) * kKernelVolume;
    unsigned most = 0;
    if constexpr (TRANSPOSED) {
        turn_weights<16 / sizeof(Factor)>(to, weight, [&](float w) {
            if (kScaled) most = max(most, as_magnitude(w));
            return made(w, scale);
        });
        return most;
    }
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < C_OUT * depth; i += gridDim.x * 256ll) {
        const int channel = i % kChannelsIn, out = i / depth;
        const bool meet = channel / C_GROUP == out % kChannelsOut / C_OUT_GROUP;
        const float w = meet ? read_only(weight + i / kChannelsIn * C_GROUP + channel % C_GROUP) : 0.0f;
        to[i] = from_float<Factor>(made(w, scale));
        if (kScaled) most = max(most, as_magnitude(w));
    }
    return most;
}

constexpr long long kInputs = static_cast<long long>(C) * W * H * D * N, kWeights = static_cast<long long>(C_GROUP) * kKernelVolume * C_OUT;

// make_pixels converts pixels and returns the largest magnitude that the thread found.
__device__ __forceinline__ unsigned make_pixels(Factor* to, const Element* x, const PowerScale& scale) {
    constexpr int width = 16 / sizeof(Factor);  // elements of a vector, which divide C
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

// convolution_tma_channels_make converts the input and the weights if products cannot take them directly, and clears
// the flags of the warps that have left sums (shared_tiles.cuh).
extern "C" __global__ void __launch_bounds__(256, 8)  // all blocks at once
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

// convolution_tma_channels_again converts input or weights again if the guessed power of two scaled them beyond the
// range of fp16.
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
                             Element* __restrict__ y, float* left, float* there TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    const Work::Plain plain = {x, weight, bias, {TILE_EPILOGUE_ARGUMENTS}};
    slab_gemm<Work, BoxProducer>(reinterpret_cast<char*>(memory), {&rows, &columns},
                                 {{plain.epilogue, bias}, channel_scales}, y, plain,
                                 {left, reinterpret_cast<int*>(there)});
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_channels(const __grid_constant__ TensorMap rows, const __grid_constant__ TensorMap columns, float* channel_scales,
                             const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                             Stored* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    const Work::Plain plain = {x, weight, bias, {TILE_EPILOGUE_ARGUMENTS}};
    slab_gemm<Work, BoxProducer>(reinterpret_cast<char*>(memory), {&rows, &columns},
                                 {{plain.epilogue, bias}, channel_scales}, y, plain);
}
#endif

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_channels_sum(const float* partial_sums, const Element* __restrict__ x, const Element* __restrict__ weight,
                                 const Element* __restrict__ bias, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const PlainConvolution<float, Epilogue> plain = {x, weight, bias, {EPILOGUE_ARGUMENTS}};
    sum_splits<Work::kMasked>(partial_sums, y, Work::outputs(), plain, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
