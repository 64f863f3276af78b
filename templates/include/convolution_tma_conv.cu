// convolution_tma_conv.cu: convolutions of up to three axes, transposed or not, as matrix products on Hopper's
// warpgroup products (sm_90a). Rows of the product are pixels, columns are output channels, and k is input channels and
// taps. The copy engine loads the input directly (tensor_map.cuh).
//
// Idea: the pixels of a row are divided into runs of RUN. The input of a run, for CHANNELS channels and for one tap or
// a row of the kernel (TAPS_ACROSS), is one box. If a stage contains all taps of a plane of the kernel (TAPS_DOWN), its
// runs lie below each other and share one box of BOX_ROWS rows: with a kernel of three rows, four runs read six rows,
// not twelve. The copy engine fills the part of a box outside of the input with zeros, so padding costs nothing. A
// stride or a dilation only changes where a box begins. Boxes can only begin at multiples of 16 bytes, so a box begins
// up to three floats early. A stage of the pipeline holds the boxes of a tile's runs, and the weights of their channels
// and taps. Products read rows from registers: consumers load them from the boxes, each tap at a constant offset, and
// round them.
//
// A first launch packs the weights as slabs (slab_operands.cuh), so that the weights of a stage are one bulk copy. The
// input is read from memory only once. packed_conv.cuh in contrast first packs the input in memory, which relieves its
// consumers of loading rows.
//
// A transposed convolution of stride S computes for each pixel S outputs along an axis, which are columns of the
// product. With padding P, tap S * t + p of the kernel takes input i to output S * (i + t) + p - P. In the product,
// column p of a pixel combines all taps with remainder p modulo S, which read contiguous inputs. Weights of taps that
// the kernel lacks are zeros. Dilation is supported only on axes of stride 1.
//
// BOX is the number of floats from one channel of a box to the next: as many as a run reads, plus three. A warp loads
// four channels of eight pixels; a BOX of a multiple of 16 plus 8 floats avoids bank conflicts.
//
// slab_gemm.cuh has the mainloop and explains its tunables. op.yaml derives BOX_ROWS and BOX_BYTES (the size of a box
// in shared memory), TILE_RUNS (runs per tile), IN_TILE (stages per tile), SEGMENTS (runs per row), TAPS_ACROSS,
// TAPS_DOWN and TALL (rows of pixels, rounded up to whole tiles if TAPS_DOWN > 1).
#include "bulk_copy.cuh"
#include "dependent_launch.cuh"
#include "place.cuh"
#include "plain_convolution.cuh"
#include "slab_gemm.cuh"
#include "tensor_map.cuh"

namespace {

// BoxedAxis describes a convolution along one axis.
//   rows, taps, phases: number of pixels, taps of a product, and outputs per pixel.
//   stride, step:       inputs from a pixel to the next, and from a tap to the next.
//   lead:               how many inputs before the input's start the first tap of pixel 0 lies.
template <class Size, int Kernel, int Stride, int Padding, int Dilation>
struct BoxedAxis {
#if TRANSPOSED
    static_assert(Stride == 1 || Dilation == 1, "taps of a phase lie side by side");
    __device__ __forceinline__ static int rows() { return (Size::out() - 1 + Padding) / Stride - Padding / Stride + 1; }
    static constexpr int taps = (Kernel + Stride - 1) / Stride, phases = Stride, stride = 1, step = Stride == 1 ? Dilation : 1, lead = (taps - 1) * step - Padding / Stride;
    // kernel_tap returns the kernel's tap that a product's tap stands for in a phase, or an index past the kernel's
    // last tap if the kernel has no such tap.
    __device__ __forceinline__ static int kernel_tap(int tap, int phase) { return Stride * (taps - 1 - tap) + phase; }
    static constexpr bool lacks = Kernel % Stride != 0;  // some phase lacks a tap
    // output returns the coordinate, possibly outside of the tensor, of the output that a pixel has in a phase.
    __device__ __forceinline__ static int output(int pixel, int phase) { return pixel * Stride + phase - Padding % Stride; }
#else
    __device__ __forceinline__ static decltype(Size::out()) rows() { return Size::out(); }
    static constexpr bool lacks = false;
    static constexpr int taps = Kernel, phases = 1, stride = Stride, step = Dilation, lead = Padding;
    __device__ __forceinline__ static int kernel_tap(int tap, int) { return tap; }
    __device__ __forceinline__ static int output(int pixel, int) { return pixel; }
#endif
    __device__ __forceinline__ static bool has(int output) { return (!TRANSPOSED || output >= 0) && output < Size::out(); }
    __device__ __forceinline__ static int input(int pixel, int tap) { return pixel * stride + tap * step - lead; }
    // early returns by how many inputs a box begins before the input of its first pixel, so that the box begins at a
    // multiple of 16 bytes.
    __device__ __forceinline__ static int early(int tap) { return input(0, tap) & 3; }
};

typedef BoxedAxis<SizeD, KERNEL_D, STRIDE_D, PADDING_D, DILATION_D> AxisD;
typedef BoxedAxis<SizeH, KERNEL_H, STRIDE_H, PADDING_H, DILATION_H> AxisH;
typedef BoxedAxis<SizeW, KERNEL_W, STRIDE_W, PADDING_W, DILATION_W> AxisW;

constexpr int kTaps = AxisD::taps * AxisH::taps * AxisW::taps;
constexpr int kPhases = AxisD::phases * AxisH::phases * AxisW::phases;
constexpr int kColumns = C_OUT_GROUP * kPhases;  // of a product; the phases of a channel are adjacent
constexpr int kRowFloats = CHANNELS * BOX;  // floats in a row of a box
constexpr bool kPatches = TAPS_DOWN > 1;
constexpr int kBoxes = STAGE_A_BYTES / BOX_BYTES;
constexpr int kStageTaps = TAPS_DOWN * TAPS_ACROSS;
constexpr int kStageSlabs = DEPTH * kSlabs;
constexpr int kStagesInChunk = kTaps / kStageTaps;
constexpr int kStageWeightBytes = STAGE_BYTES - STAGE_A_BYTES;
static_assert(AxisW::taps % TAPS_ACROSS == 0, "stages of a row have as many taps");
static_assert(!kPatches || kStageTaps == AxisH::taps * AxisW::taps, "a stage of a patch has all taps of a plane");
static_assert(RUN % 16 == 0 && TILE_M % RUN == 0, "a warp's 16 rows lie in one run");

// Run computes where a run of pixels begins; runs after the last one get image N. Consecutive runs lie below each
// other if the runs of a tile share a patch, otherwise side by side.
struct Run {
    int n, d, h, w;
    __device__ __forceinline__ explicit Run(int index) {
        const Place at = kPatches ? Place(index, SEGMENTS, TALL) : Place(index, AxisH::rows(), SEGMENTS);
        h = kPatches ? at.w : at.h, w = (kPatches ? at.h : at.w) * RUN;
        n = at.d / AxisD::rows(), d = at.d - n * AxisD::rows();
    }
};

// Element is one element of k: a channel of the group and a tap (of the kernel unless the convolution is transposed).
// Elements that only pad the last step of k have a channel of C_GROUP or more.
struct Element {
    int channel;
    Place tap;
};

// ---- Order defines the order of k. With 16 channels or more, the taps of a stage follow one after the other, each
// with its channels.
template <int Channels, bool Few = (Channels < 16)>
struct Order {
    static_assert(kStageSlabs * 4 == kStageTaps * Channels, "a stage has whole steps of its taps");
    static constexpr int kTapSlabs = CHANNELS / 4;

    // slab returns which of a tile's slabs contains a quad, which is four channels of one tap. Quads (four channels of
    // one tap) are numbered with taps varying fastest, as weights lie in memory.
    __device__ __forceinline__ static int slab(int quad) {
        const int tap = quad % kTaps, channel = quad / kTaps * 4;
        const int stage = channel / CHANNELS * kStagesInChunk + tap / kStageTaps;
        return stage * kStageSlabs + tap % kStageTaps * kTapSlabs + channel % CHANNELS / 4;
    }
    __device__ __forceinline__ static Element element(int slab, int i) {
        const int stage = slab / kStageSlabs, in_stage = slab % kStageSlabs;
        return {stage / kStagesInChunk * CHANNELS + in_stage % kTapSlabs * 4 + i,
                Place(stage % kStagesInChunk * kStageTaps + in_stage / kTapSlabs, AxisH::taps, AxisW::taps)};
    }

    // A lane loads every fourth channel.
    const float* rows;
    __device__ __forceinline__ explicit Order(const float* rows) : rows(rows + threadIdx.x % 4 * BOX) {}
    // load returns the lane's element of slab `slab` of a stage, for the row that begins at `place`.
    __device__ __forceinline__ unsigned load(int slab, int place) const {
        const int channel = slab % kTapSlabs * 4, tap = slab / kTapSlabs;
        return round_to_tf32(rows[place + tap / TAPS_ACROSS * AxisH::step * kRowFloats + channel * BOX + tap % TAPS_ACROSS * AxisW::step]);
    }
};

// This specialisation of Order is for few channels, as in the first layer of a network: k runs along the rows of a box,
// from tap to tap. A row of the box contains what one row of the kernel reads of one channel. A box holds the rows of
// all channels for the kernel's first row, then the rows of all channels for the kernel's next row. In this order of
// taps and channels, k has no gaps: three channels of a 7 x 7 kernel are 147 elements, padded to 160, not 49 taps of 16
// channels.
//
// A lane loads every fourth element of k. Four consecutive elements of k may be neighbours in one row of the box, or
// the last ones of one row and the first ones of the next row, a constant distance further on. A row of the box can end
// at one of four places among four consecutive elements, so a lane stores one distance for each place; the other terms
// of addresses are constants. The loads of eight neighbouring pixels and four taps have no bank conflicts for strides
// up to four.
//
// A stage contains all channels and all rows of the kernel, whose dilation from row to row is 1: CHANNELS is C_GROUP,
// and TAPS_ACROSS and TAPS_DOWN are the size of the kernel.
template <int Channels>
struct Order<Channels, true> {
    static constexpr int kAcross = AxisW::taps, kElements = kStageTaps * CHANNELS;  // in a row, and in a stage
    static_assert(Channels == C_GROUP && kStageTaps == AxisH::taps * kAcross && kElements <= kStageSlabs * 4,
                  "a stage has a plane of the kernel");
    static_assert(!kPatches || AxisH::step == 1, "rows of the kernel follow each other in a box");

    __device__ __forceinline__ static int slab(int quad) { return quad; }
    __device__ __forceinline__ static Element element(int slab, int i) {
        const int k = slab % kStageSlabs * 4 + i, row = k / kAcross;
        return {k < kElements ? row % CHANNELS : C_GROUP,
                Place((slab / kStageSlabs * AxisH::taps + row / CHANNELS) * kAcross + k % kAcross, AxisH::taps, kAcross)};
    }

    // ahead[e] is the distance in the box from the first of four consecutive elements of k to the lane's element if a
    // row of the box ends before the e-th of the four; ahead[0] is the distance if no row ends among the four.
    const float* rows;
    int ahead[4];
    __device__ __forceinline__ explicit Order(const float* rows) : rows(rows) {
        const int lane = threadIdx.x % 4;
#pragma unroll
        for (int e = 0; e < 4; ++e) ahead[e] = kAcross == 1 ? lane * BOX : lane * AxisW::step + (e > 0 && lane >= e ? kRowEnd : 0);
    }
    static constexpr int kRowEnd = BOX - kAcross * AxisW::step;  // from the end of a row's last tap to the next row

    // load returns the lane's element of slab `slab` of a stage, for the row that begins at `place`. For elements
    // after the last element of k, load returns zeros, since the box may contain NaNs there.
    __device__ __forceinline__ unsigned load(int slab, int place) const {
        const int k = slab * 4, across = k % kAcross, end = kAcross > 1 && kAcross - across < 4 ? kAcross - across : 0;
        if (k >= kElements) return 0;
        const unsigned value = round_to_tf32(rows[ahead[end] + place + k / kAcross * BOX + across * AxisW::step]);
        return k + 4 <= kElements || threadIdx.x % 4 < kElements - k ? value : 0;
    }
};
typedef Order<CHANNELS> Steps;

// ---- The first launch packs the weights. A work item is four elements of k of one column.

constexpr int kPackedColumns = TILES_N * TILE_N;
constexpr int kQuads = IN_TILE * kStageSlabs;
constexpr long long kWeightItems = static_cast<long long>(GROUPS) * kPackedColumns * kQuads;

__device__ __forceinline__ void pack_weight(const float* weight, float* packed, long long item) {
    // Two neighbouring columns fill a sector of memory.
    const int pair = item / (2ll * kQuads), group = pair / (kPackedColumns / 2);
    const int column = pair % (kPackedColumns / 2) * 2 + item % 2, out = column / kPhases;
    const Place phase(column % kPhases, AxisH::phases, AxisW::phases);
    const int slab = Steps::slab(item / 2 % kQuads);
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const Element k = Steps::element(slab, i);
        const int d = AxisD::kernel_tap(k.tap.d, phase.d), h = AxisH::kernel_tap(k.tap.h, phase.h), w = AxisW::kernel_tap(k.tap.w, phase.w);
        const long long from = TRANSPOSED ? (static_cast<long long>(group) * C_GROUP + k.channel) * C_OUT_GROUP + out
                                          : (static_cast<long long>(group) * C_OUT_GROUP + out) * C_GROUP + k.channel;
        const bool there = column < kColumns && d < KERNEL_D && h < KERNEL_H && w < KERNEL_W && k.channel < C_GROUP;
        v[i] = there ? tf32_value(__ldg(weight + from * kKernelVolume + (d * KERNEL_H + h) * KERNEL_W + w)) : 0.0f;
    }
    const long long tile = static_cast<long long>(group) * TILES_N + column / TILE_N;
    *reinterpret_cast<float4*>(packed + ((tile * kQuads + slab) * TILE_N + column % TILE_N) * 4) = make_float4(v[0], v[1], v[2], v[3]);
}

// ---- The second launch computes the convolution.

struct BoxedOperands {
    const TensorMap* input;
    const char* weight;  // packed
};

constexpr int kEighths = 2 * DEPTH;  // products in a stage, each of eight elements of k

// products_together returns for how many products rows are loaded at once, into at most 16 registers. Two sets of
// registers alternate: while products read one set, the other is loaded. Therefore a stage must have an even number of
// groups of products whose rows are loaded at once; otherwise the next stage would begin with the set of registers that
// the last products still read.
constexpr int products_together() {
    int products = ROW_BLOCKS < 4 ? 4 / ROW_BLOCKS : 1;
    while (kEighths % (2 * products) != 0) --products;
    return products;
}

// BoxedProducts takes rows from the boxes of a stage, and columns from the slabs after the boxes.
struct BoxedProducts {
    static constexpr bool kFromRegisters = true;
    static constexpr int kTogether = products_together();
    static constexpr int kRunFloats = kPatches ? AxisH::stride * kRowFloats : BOX_BYTES / 4;  // from a run to the next

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns, int index, int block, int column) {
        const int early = AxisW::early(TAPS_ACROSS == AxisW::taps ? 0 : index % AxisW::taps);
        const int row = warp_row<BoxedProducts>(block, 0) + threadIdx.x % 32 / 4;
        const Steps steps(reinterpret_cast<const float*>(stage) + row / RUN * kRunFloats + row % RUN * AxisW::stride + early);
        columns += column * 16;
#pragma unroll
        for (int first = 0; first < kEighths; first += kTogether) {
            unsigned a[kTogether][ROW_BLOCKS][4];
#pragma unroll
            for (int e = 0; e < kTogether; ++e)
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r)
#pragma unroll
                    for (int i = 0; i < 4; ++i) a[e][r][i] = steps.load((first + e) * 2 + i / 2, place(r, i % 2));
            wgmma_fence();
#pragma unroll
            for (int e = 0; e < kTogether; ++e)
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r)
                    wgmma<wgmma_of_tf32, COLUMNS>(
                        sums[r], a[e][r], Slabs{columns + (first + e) * 2 * COLUMN_SLAB_BYTES, COLUMN_SLAB_BYTES});
            if (first + kTogether < kEighths) {
                wgmma_commit();
                wgmma_wait_groups<1>();
            }
        }
    }

    // place returns the offset in the box from a thread's first row to its row in one half of block r, which may belong
    // to another run or to another pixel. A warp's rows begin at a multiple of RUN, or of the warp's number of rows.
    __device__ __forceinline__ static constexpr int place(int r, int half) {
        return r * 16 / RUN * kRunFloats + (r * 16 % RUN + half * 8) * AxisW::stride;
    }
};

// BoxedProducer is the producer warp, whose lanes share the copies of a stage: each of them loads one box, and one lane
// also loads the weights.
struct BoxedProducer {
    typedef BoxedProducts Products;

    template <class Work>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const BoxedOperands& operands) {
        const int lane = threadIdx.x % 32;
        prefetch_tensor_map(operands.input);
        Turn turn;
        for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
            const Tile tile = Tiles<Work>::at(index);
            const Stages stages = Tiles<Work>::stages(index);
            const Run run(tile.m * TILE_RUNS + (kBoxes > 1 ? lane : 0));  // without a lane in uniform registers
            const char* const weights =
                operands.weight + (static_cast<long long>(tile.group) * TILES_N + tile.n) * IN_TILE * kStageWeightBytes;
            for (int s = stages.first; s < stages.end; ++s, turn.next()) {
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                if (lane == 0) mbarrier_expect(pipeline.full(turn.slot), kBoxes * BOX_ROWS * kRowFloats * 4 + kStageWeightBytes);
                __syncwarp();
                char* const stage = pipeline.stage(turn.slot);
                const Place tap(s % kStagesInChunk * kStageTaps, AxisH::taps, AxisW::taps);  // the first tap
                if (lane < kBoxes)
                    tensor_load(stage + lane * BOX_BYTES, operands.input,
                                {AxisW::input(run.w, tap.w) - AxisW::early(tap.w), tile.group * C_GROUP + s / kStagesInChunk * CHANNELS,
                                 AxisH::input(run.h, tap.h), AxisD::input(run.d, tap.d), run.n},
                                pipeline.full(turn.slot));
                if (lane == 0)
                    bulk_load(stage + STAGE_A_BYTES, weights + static_cast<long long>(s) * kStageWeightBytes, kStageWeightBytes, pipeline.full(turn.slot));
            }
        }
    }
};

struct Work : ConvolutionWork {
    typedef BoxedOperands Operands;
    typedef PlainConvolution<float, TileEpilogue> Plain;
    static constexpr bool kMasked = AxisD::lacks || AxisH::lacks || AxisW::lacks;
    __device__ __forceinline__ static int groups() { return GROUPS; }
    static constexpr int kStages = IN_TILE;

    struct Output : TileGiven {
        typedef TileGiven Given;
        static constexpr int kMixed = 0;
        int first;  // first channel of the group
        bool biased;
        __device__ __forceinline__ Output(const Tile& tile, const Given& given)
            : TileGiven(given), first(tile.group * C_OUT_GROUP), biased(BIAS && tile.split == 0) {}

        static constexpr int kTurns = AxisW::phases, kRun = kPhases == 1 && C_OUT_GROUP % 16 == 0 ? 16 : 1;
        __device__ __forceinline__ static int columns() { return kColumns; }
        // lacks says whether a row has no outputs at all; with several phases, a row may have outputs in some columns.
        __device__ __forceinline__ static bool lacks(int row) {
            const Run run(row / RUN);
            const int w = run.w + row % RUN;
            return kPhases == 1 && !(run.n < N && AxisD::has(run.d) && AxisH::has(run.h) && AxisW::has(w));
        }
        // place locates an output for epilogues. Outputs that do not exist get the place of the first pixel, or of the
        // last channel. A row's columns therefore have addresses a constant distance per channel apart, which saves
        // registers.
        __device__ __forceinline__ Coordinates<3, 1> place(int row, int first_column, int c) const {
            int channel = first_column / kPhases + c / kPhases;
            if (kColumns % 32 != 0 && channel >= C_OUT_GROUP) channel = C_OUT_GROUP - 1;
            Coordinates<3, 1> place = {{0, first + channel, 0}, {N, C_OUT, out_volume()}};
            with_output<true>(row, 0, c % kPhases, [&](int n, long long /*image*/, int /*channel*/, long long pixel) {
                place.at[0] = n, place.at[2] = pixel;
            });
            return place;
        }
        template <class Outputs, class... B>
        __device__ __forceinline__ void store(Outputs y, int row, int first_column, int c, float value,
                                              const B&... beside) const {
            constexpr bool whole = !kIsNone && kColumns % 32 == 0 && sizeof...(B) > 0;
            with_output<whole>(row, first_column, c, [&](int /*n*/, long long image, int channel, long long pixel) {
                float sums[1] = {biased ? value + __ldg(bias + first + channel) : value};
                finish<kMasked>(*this, sums, {is_finite(value)}, beside...);
                y[(image + channel) * out_volume() + pixel] = sums[0];
            });
        }

       private:
        // If a row and a column of the product have an output, with_output calls `with` with the output's image, the
        // index of the group's first channel, the channel in the group, and the pixel. IsChannel says that the column
        // is known to have a channel.
        template <bool IsChannel, class With>
        __device__ __forceinline__ void with_output(int row, int first_column, int c, const With& with) const {
            // A block of 32 columns begins with a channel's first phase, so a column's phase depends only on constants
            // and the lane.
            static_assert(32 % kPhases == 0, "a channel's phases lie in 32 columns");
            const Run run(row / RUN);
            const Place phase(c % kPhases, AxisH::phases, AxisW::phases);
            const int channel = first_column / kPhases + c / kPhases, d = AxisD::output(run.d, phase.d);
            const int h = AxisH::output(run.h, phase.h), w = AxisW::output(run.w + row % RUN, phase.w);
            const long long pixel = (static_cast<long long>(d) * H_OUT + h) * W_OUT + w;
            const long long image = static_cast<long long>(run.n) * C_OUT + first;
            if (run.n < N && AxisD::has(d) && AxisH::has(h) && AxisW::has(w) && (IsChannel || channel < C_OUT_GROUP))
                with(run.n, image, channel, pixel);
        }
    };
};

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_conv_pack(const float* __restrict__ weight, float* __restrict__ packed_weight) {
    begin_dependents();
    const long long item = blockIdx.x * 256ll + threadIdx.x;
    if (item < kWeightItems) pack_weight(weight, packed_weight, item);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_tma_conv(const __grid_constant__ TensorMap input, const float* packed_weight, const float* __restrict__ x,
                         const float* __restrict__ weight, const float* __restrict__ bias,
                         float* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(1024) uint4 memory[];
    const Work::Plain plain = {x, weight, bias, {TILE_EPILOGUE_ARGUMENTS}};
    const BoxedOperands operands = {&input, reinterpret_cast<const char*>(packed_weight)};
    slab_gemm<Work, BoxedProducer>(reinterpret_cast<char*>(memory), operands, {plain.epilogue, bias}, y, plain);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_tma_conv_sum(const float* partial_sums, const float* __restrict__ x, const float* __restrict__ weight,
                             const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    const PlainConvolution<float, Epilogue> plain = {x, weight, bias, {EPILOGUE_ARGUMENTS}};
    sum_splits<Work::kMasked>(partial_sums, y, Work::outputs(), plain, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
