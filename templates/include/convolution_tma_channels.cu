// convolution_tma_channels.cu: channels-last convolutions (1D to 3D) as implicit GEMMs with Hopper's wgmma and TMA
// (sm_90a). Rows of the GEMM are output pixels, columns are output channels, and k runs over kernel taps and input
// channels. A transposed convolution is computed as one GEMM per output phase: outputs whose coordinates have the same
// remainders modulo the stride (phases.cuh).
//
// The output pixels of a tile form boxes of RUN x DOWN pixels of IMAGES images. For each kernel tap, one TMA load
// brings a box's input pixels to shared memory, swizzled for wgmma; TMA fills padding with zeros. Each lane of the
// producer warp loads one box of the tile. The blocks of a cluster compute different pixels of the same output
// channels, so they share the weights by multicast (multicast.cuh).
//
// A pipeline stage may contain several kernel taps: their wgmmas read the same TMA box, which includes the halo, at
// different pixel offsets.
//
// Groups with few channels are folded: FOLD groups are multiplied as one group, with zero weights between different
// groups. Since zero times infinity is NaN, outputs that are not finite are computed again (mended.cuh).
//
// In math mode tf32, consumers round the input in registers (ROWS_EXACT), or a first launch rounds it in memory
// (PIXELS_MADE), because TMA cannot round ties away from zero. If COLUMNS_ALONG_K is 0, wgmma reads 16-bit weights
// whose contiguous axis is the output channels, not k. With SCALED, a first launch converts input and weights to fp16,
// scaled by guessed powers of two (guessed_scale.cuh).
//
// The tunables, besides those of slab_gemm.cuh:
//   RUN, DOWN, IMAGES: size of a box; large boxes need fewer TMA loads, small ones fit the output's size better.
//   TAPS_ACROSS, TAPS_DOWN: kernel taps per stage; more taps load pixels less often, but need more shared memory.
//   LINE: bytes of a pixel's channels per TMA load; 64 avoid padding if the number of channels is no multiple of 64.
//
// Values that op.yaml derives:
//   BOX: output pixels per box.
//   BOX_ACROSS, BOX_DOWN: width and height of a box of the input, including the halo.
//   BOX_LINES: pixels of a box in shared memory.
//   BOXES: boxes per stage.
//   CHUNKS: number of TMA loads that cover all channels of a pixel.
//   IN_TILE: maximum number of stages per tile.
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
constexpr bool kRounded = ROWS_EXACT || PIXELS_MADE;  // whether threads round the operands, not TMA
constexpr int kBoxes = TILE_M / BOX;
constexpr int kArriving = BOXES * BOX_ACROSS * BOX_DOWN * IMAGES * kLineBytes + STAGE_BYTES - STAGE_A_BYTES;  // bytes of TMA loads per stage
static_assert(BOX % 8 == 0 && TILE_M % BOX == 0 && kBoxes <= 32, "boxes begin at multiples of eight lines, a lane each");
constexpr int kShare = TILE_N / CLUSTER;  // columns of B that each block of a cluster loads
static_assert(kShare % (COLUMNS_ALONG_K ? 8 : 64) == 0, "a block's columns begin at multiples of eight lines, or are in boxes of their own");
static_assert((kEvenPhases || kStageTaps == 1) && kPhaseTaps % kStageTaps == 0 && (kEvenPhases ? kPhaseTaps / kStageTaps : 1) * CHUNKS % kAtoms == 0,
              "stages have as many taps' channels each");

// Box computes the coordinates of a box's first output pixel.
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

// PixelsOutput divides a GEMM's sums by the powers of two that scaled input and weights.
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

// BoxProducts issues a stage's wgmmas: if Exact is true, A is rounded in registers, otherwise it is read from shared
// memory.
template <bool Exact>
struct BoxProducts : MappedProducts<true> {};
template <>
struct BoxProducts<false> {
    static constexpr bool kFromRegisters = false;
    static constexpr int kBlockBytes = kBlockRows * BOX_LINES / BOX * kLineBytes;  // bytes of 64 rows of A
    static constexpr bool kShared = kStageTaps > 1;
    static constexpr int kApart = !kShared ? 0 : DOWN == 1 ? BOX_LINES : BOX_ACROSS;  // pixels of the box between groups of eight rows of A
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

// BoxProducer is the producer warp; its lanes share the TMA loads of a stage. With KEPT, weights are loaded once and
// stay in shared memory.
struct BoxProducer {
    typedef BoxProducts<ROWS_EXACT> Products;

    // load_columns loads this block's part of a kernel tap's weights by TMA.
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
        unsigned long long brought = 0;  // bit set of stages whose weights have been requested
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

// made rounds and scales an element of the input or the weights for wgmma.
__device__ __forceinline__ float made(float x, const PowerScale& scale) {
    const float rounded = kRounded ? tf32_value(x) : x;
    return kScaled ? rounded * scale.power : rounded;
}

// make_weights converts weights for wgmma and returns the largest magnitude that the thread has converted.
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

__device__ __forceinline__ unsigned make_pixels(Factor* to, const Element* x, const PowerScale& scale) {
    constexpr int width = 16 / sizeof(Factor);  // elements per vector; a divisor of C
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

// convolution_tma_channels_make converts input and weights that TMA cannot load as they are.
extern "C" __global__ void __launch_bounds__(256, 8)  // all blocks are resident at once
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

// convolution_tma_channels_again converts input or weights again if the guessed power of two exceeded the range of
// fp16.
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
