// packed_conv.cuh: convolutions of up to three axes, transposed or not, as matrix products on Hopper's warpgroup
// products (sm_90a), with any number of channels, kernel, stride, padding, dilation and groups.
//
// Idea: a first launch packs input and weights, which means that it writes copies in the layout that products need for
// their operands (slab_operands.cuh). Packing rounds elements to TF32, splits them into parts of fp16 in math mode
// fp32, or copies 16-bit elements unchanged. The second launch is a pipeline between the copy engine and the tensor
// cores (slab_gemm.cuh) that never computes the address of an input: in the packed input every output has a position,
// and every tap of the kernel reads at a constant distance from it.
//
// The packed input has these properties:
//   1. Channels are divided into steps of 16; a step is a plane of the positions of all images.
//   2. A row has positions for all of its outputs and for all inputs that their taps read. The padding's
//      zeros are stored between rows, between slices and between images. The zeros at the end of a row are
//      also those at the start of the next row, unless a stride forbids it.
//   3. A stride splits each axis into phases, each with a plane of its own: input elements that are
//      a stride apart are neighbours in such a plane.
//   4. With few channels, the kernel's columns (FOLD_W), or all its taps (FOLD_H), become
//      channels: three channels of a 7 x 7 kernel are 7 taps of 21 channels, padded to 32, not
//      49 taps of 3 channels, padded to 16.
//   5. MERGE groups are merged into one with MERGE times the channels, and with zero weights between
//      different groups: tensor cores always multiply 64 rows.
//
// A transposed convolution of stride S is S convolutions of stride 1 along each axis. Each of the S convolutions
// computes one phase, which is every S-th output, with every S-th tap. As matrix products, the convolutions of all
// phases share the packed input, but have their own weights and offset. If dilation D and stride have a common divisor
// G, a phase has every S/G-th tap, D/G inputs apart, and only every G-th phase has taps; the weights of the other
// phases are zeros. With INTERLEAVE = 1 the phases of an output row are rows of one product. The epilogue interleaves
// the phases, so that it stores whole rows of outputs. The product has a tap for each position that any phase reads:
// more taps than a single phase needs, if the offsets of the phases differ, or if the taps of a phase are not
// neighbours. If the stride is no divisor of 16, rows of zeros pad it to one. With INTERLEAVE = 2 each half of the
// phases is a product of its own. Two products need no superfluous taps if the second half of the phases reads one
// position further on than the first half; outputs are then stored half a stride at a time.
//
// Two parts of fp16 have the digits of a float but not its range. To keep parts in the range of fp16, input and weights
// are each multiplied by a power of two. A launch before the others finds the largest magnitudes, which determine the
// powers of two (tensor_scales.cuh). With SCALED = 1, operands in TF32 are stored as one part of fp16, which has as
// many digits, and halves the time of products.
//
// A stage of the pipeline contains DEPTH taps that share one range of a plane: some taps of a row of the kernel, or
// whole rows. For a kernel of one tap, a stage is DEPTH steps of channels.
//
// The price is writing and reading the packed input: little for kernels with many taps and channels, half of the time
// for convolutions with few multiplications per input.
//
// A kernel that includes this file has the tunables of slab_gemm.cuh. The kernel defines as macros the problem's sizes
// (axes that the problem lacks have size 1), TRANSPOSED, and the values that op.yaml derives for each axis: see Axis. A
// transposed convolution also defines MIXED (rows per channel), ROW_PRODUCTS (products for the phases of a row) and
// TAP_STEP, the positions from a tap of a product to the next.
#pragma once
#include "block_scale.cuh"
#include "dependent_launch.cuh"
#include "element.cuh"
#include "factor.cuh"
#include "layout.cuh"
#include "power_scale.cuh"
#include "packed_gemm.cuh"
#include "place.cuh"
#include "plain_convolution.cuh"

// Axis describes a convolution along one axis. The values of Axis are static members of a type, since device code
// cannot use the members of a constexpr object.
//   Taps:      number of taps of a product: of the kernel, or of an output phase; 1 if taps are folded.
//   Period:    distance between taps that read the same phase of the input.
//   Phases:    number of phases into which a stride splits the input.
//   Step:      positions from a tap to the next tap of its phase.
//   Positions: number of positions in a row, a slice or an image of the packed input.
//   Lead:      number of zeros before the input.
template <class Sizes, int Kernel, int Stride, int Padding, int Dilation, int Taps, int Period, int Phases, int Step, int Lead>
struct Axis : Sizes {
    static constexpr int kernel = Kernel, stride = Stride, taps = Taps, period = Period, phases = Phases, step = Step;
    static constexpr int output_phases = TRANSPOSED ? Stride : 1;
    static constexpr int apart = TRANSPOSED ? Stride * Step / Dilation : Stride;  // taps of the kernel from one of a phase to the next
    static constexpr int of_phase = (Kernel + apart - 1) / apart;
    static constexpr bool lacks = TRANSPOSED && (Kernel % apart != 0 || apart != Stride);  // some phase lacks a tap

    // input returns the input coordinate of a position in a phase, for a folded tap.
    __device__ __forceinline__ static int input(int position, int phase, int folded) {
        return position * (TRANSPOSED ? 1 : Stride) + (phase + folded) * Dilation - Lead;
    }
    // kernel_tap returns the kernel's tap that a product's tap stands for in the outputs of a phase, or an index past
    // the kernel's last tap if the kernel has no such tap.
    __device__ __forceinline__ static int kernel_tap(int tap, int output_phase, bool interleaved = false) {
        if (!TRANSPOSED) return tap;
        if (output_phase >= Stride) return Kernel;
        const int from = interleaved ? tap - offset(output_phase) : tap * Step, t = from / Step, first = first_tap(output_phase);
        return from < 0 || from % Step != 0 || t >= of_phase || first < 0 ? Kernel : first + (of_phase - 1 - t) * apart;
    }
    // first_tap returns the first of the kernel's taps whose distance from a phase's outputs is a whole number of
    // strides, or a negative number if there is none.
    __device__ __forceinline__ static int first_tap(int output_phase) {
        const int rest = (output_phase + Padding) % Stride;
        for (int tap = 0; tap < apart; ++tap)
            if ((tap * Dilation + Stride - rest) % Stride == 0) return tap;
        return -1;
    }
    // offset returns the distance in positions (at least 0) from an output's position in the packed input to the first
    // position that the taps of its phase read.
    __device__ __forceinline__ static int offset(int output_phase) {
        if (!TRANSPOSED) return 0;
        const int ahead = (output_phase + Padding) / Stride - Padding / Stride, tap = apart > 1 && Step > 1 ? first_tap(output_phase) : 0;
        return ahead + (apart > 1 ? Step - 1 : 0) - (tap > 0 ? tap * Dilation / Stride : 0);
    }
    // output returns the coordinate of the output that belongs to a position of the packed input in a phase.
    __device__ __forceinline__ static int output(int position, int output_phase) {
        return TRANSPOSED ? position * Stride + output_phase : position;
    }
};

#if TRANSPOSED  // taps are not folded; outputs have phases, inputs do not
#define FOLD_H 0
#define FOLD_W 0
#define PERIOD_D 1
#define PHASES_D 1
#define PERIOD_H 1
#define PHASES_H 1
#define PERIOD_W 1
#define PHASES_W 1
#else
#define INTERLEAVE 0
#define MIXED 1
#define ROW_PRODUCTS 1
#define TAP_STEP STEP_W
#endif

namespace {

#define AXIS(X)                                                                                                                            \
    struct Axis##X : Axis<Size##X, KERNEL_##X, STRIDE_##X, PADDING_##X, DILATION_##X, TAPS_##X, PERIOD_##X, PHASES_##X, STEP_##X, LEAD_##X> { \
        __device__ __forceinline__ static decltype(POSITIONS_##X) positions() { return POSITIONS_##X; }                                       \
    };
AXIS(D)
AXIS(H)
AXIS(W)

constexpr int kMergedGroups = GROUPS / MERGE;
constexpr int kChannelsIn = C_GROUP * MERGE, kChannelsOut = C_OUT_GROUP * MERGE;  // in a merged group
constexpr int kInputPhases = AxisD::phases * AxisH::phases * AxisW::phases;
constexpr int kOutputPhases = AxisD::output_phases * AxisH::output_phases * ROW_PRODUCTS;
constexpr int kPlanesInAll = CHUNKS * kInputPhases;               // in a merged group

// Position computes the image and the coordinates of a position in the packed input.
struct Position : Place {
    int image;
    __device__ __forceinline__ explicit Position(int index) : Place(index, AxisH::positions(), AxisW::positions()), image(d / AxisD::positions()) {
        d -= image * AxisD::positions();
    }
};

__device__ __forceinline__ Strides input_strides() { return {CHANNELS_LAST, C, in_volume()}; }
__device__ __forceinline__ Strides output_strides() { return {CHANNELS_LAST, C_OUT, out_volume()}; }
constexpr Strides kOfWeights(CHANNELS_LAST, TRANSPOSED ? C_OUT_GROUP : C_GROUP, kKernelVolume);

// Channel is a channel of the packed input: an input channel and, if taps are folded, a tap.
struct Channel {
    int channel, h, w;
    __device__ __forceinline__ explicit Channel(int packed)
        : channel(packed % kChannelsIn), h(FOLD_H ? packed / kChannelsIn / KERNEL_W : 0),
          w(FOLD_W ? packed / kChannelsIn % KERNEL_W : 0) {}
};

// A stage has STAGE_ROWS rows of kStageColumns taps. The taps of a row are packed in the order in which stages read
// them: kStageColumns taps of one phase after the other.
constexpr int kStageColumns = ONE_TAP ? 1 : DEPTH / STAGE_ROWS;
static_assert(ONE_TAP || (AxisW::taps % kStageColumns == 0 && AxisH::taps % STAGE_ROWS == 0 && STAGE_ROWS * kStageColumns == DEPTH),
              "stages have DEPTH taps each");
__host__ __device__ __forceinline__ constexpr int first_column(int stage) {
    return stage % AxisW::period + stage / AxisW::period * (kStageColumns * AxisW::period);
}
__host__ __device__ __forceinline__ constexpr int column_at(int place) {
    return ONE_TAP ? 0 : first_column(place / kStageColumns) + place % kStageColumns * AxisW::period;
}

// Packed is half a step of a line (eight elements) that will be stored in packed form.
struct Packed {
    float v[8];
    char* first = nullptr;  // slab 0 of the line, or null if nothing is packed
    long long apart;        // bytes from slab to slab
    int half;
};

// store stores a Packed, multiplied by the power of two if input and weights are scaled. One of the threads that pack
// the input stores the inverse of the input's power of two, and one of the threads that pack weights stores that of the
// weights.
__device__ __forceinline__ void store(Packed& packed, float* scales, Scaled of, bool keeps) {
    if (kScaled) {
        wait_for_launches();
        const PowerScale scale = of == the_weights ? block_scale<the_weights>(scales) : block_scale<the_input>(scales);
        if (keeps) keep_inverse(scales, of, scale);
#pragma unroll
        for (int i = 0; i < 8; ++i) packed.v[i] = factor(packed.v[i]) * scale.power;
    }
    if (packed.first) store_half(packed.first, packed.apart, packed.half, packed.v);
}

// load_input loads eight channels of a position; `part` selects the half, the plane and the group.
__device__ __forceinline__ void load_input(Packed& to, const Element* x, char* packed, int part, int position) {
    const int half = part % 2, plane = part / 2 % kPlanesInAll, group = part / (2 * kPlanesInAll);
    const Place phase(plane % kInputPhases, AxisH::phases, AxisW::phases);
    const int first = plane / kInputPhases * 16 + half * 8;

    const Position at(position);
    const int image = at.image;
    const Strides in = input_strides();
    const int slice = AxisD::input(at.d, phase.d, 0);
    const Element* from = x + image * in.image + (group * kChannelsIn + (FOLD_W ? 0 : first)) * in.channel;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const Channel c(first + i);
        const int row = AxisH::input(at.h, phase.h, c.h), column = AxisW::input(at.w, phase.w, c.w);
        const bool inside = image < N && first + i < CHANNELS && slice >= 0 && slice < AxisD::in() && row >= 0 && row < AxisH::in() &&
                            column >= 0 && column < AxisW::in();
        const int place = (slice * AxisH::in() + row) * AxisW::in() + column;  // of a channel, which has fewer than 2^31
        to.v[i] = inside ? read_only(from + place * in.place + (FOLD_W ? c.channel * in.channel : 0)) : 0.0f;
        if (!FOLD_W) from += in.channel;  // an addition is cheaper than a 64-bit product
    }
    to.apart = static_cast<long long>(PACKED_POSITIONS) * 16;
    to.half = half;
    to.first = packed + (static_cast<long long>(group) * kPlanesInAll + plane) * kSlabs * to.apart + position * 16ll;
}

__device__ __forceinline__ void load_weight(Packed& to, const Element* weight, char* packed, long long item) {
    constexpr int rows = ROW_BLOCKS_IN_ALL * kBlockRows;
    const int place = item % AxisW::taps, half = item / AxisW::taps % 2, row = item / (2 * AxisW::taps) % rows;
    const int rest = item / (2ll * AxisW::taps * rows);  // the remaining indices: other axes' taps, chunk, phase, group
    const int tap_h = rest % AxisH::taps, tap_d = rest / AxisH::taps % AxisD::taps, chunk = rest / (AxisH::taps * AxisD::taps) % CHUNKS;
    const int product = rest / (AxisH::taps * AxisD::taps * CHUNKS), group = product / kOutputPhases;
    const Place phase(product % kOutputPhases, AxisH::output_phases, ROW_PRODUCTS);
    const int channel = row / MIXED;  // output channel
    const int d = AxisD::kernel_tap(tap_d, phase.d), h = AxisH::kernel_tap(tap_h, phase.h);
    const int w = AxisW::kernel_tap(column_at(place), phase.w * MIXED + row % MIXED, INTERLEAVE == 1);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int index = chunk * 16 + half * 8 + i;
        const Channel c(index);
        const bool there = channel < kChannelsOut && index < CHANNELS && c.channel / C_GROUP == channel / C_OUT_GROUP && d < AxisD::kernel &&
                           h + c.h < AxisH::kernel && w + c.w < AxisW::kernel;
        const long long pair = TRANSPOSED ? (group * kChannelsIn + c.channel) * kOfWeights.image + channel % C_OUT_GROUP * kOfWeights.channel
                                          : (group * kChannelsOut + channel) * kOfWeights.image + c.channel % C_GROUP * kOfWeights.channel;
        to.v[i] = there ? read_only(weight + pair + ((d * AxisH::kernel + h + c.h) * AxisW::kernel + w + c.w) * kOfWeights.place) : 0.0f;
    }
    const int step = ((chunk * AxisD::taps + tap_d) * AxisH::taps + tap_h) * AxisW::taps + place;
    const long long block = static_cast<long long>(product) * ROW_BLOCKS_IN_ALL + row / kBlockRows;
    to.apart = kBlockRows * 16;
    to.half = half;
    to.first = packed + (block * STEPS + step) * kBlockStepBytes + row % kBlockRows * 16;
}

// Each block of the packing launch packs 256 positions of half a plane. The blocks for all planes of the same positions
// come one after the other, and the blocks for the weights come last. The operands packed last are multiplied first.
constexpr int kParts = 2 * kMergedGroups * kPlanesInAll;
__device__ __forceinline__ int input_blocks() { return (PACKED_POSITIONS + 255) / 256 * kParts; }
constexpr long long kWeightItems = 2ll * kMergedGroups * kOutputPhases * STEPS * ROW_BLOCKS_IN_ALL * kBlockRows;

__device__ __forceinline__ void packed_conv_pack(const Element* x, const Element* weight, float* scales, float* packed_x,
                                                 float* packed_weight) {
    begin_dependents();
    Packed packed;
    const bool of_weights = blockIdx.x >= input_blocks();
    if (!of_weights) {
        const int position = blockIdx.x / kParts * 256 + threadIdx.x;
        if (position < PACKED_POSITIONS) load_input(packed, x, reinterpret_cast<char*>(packed_x), blockIdx.x % kParts, position);
    } else {
        const long long item = (blockIdx.x - input_blocks()) * 256ll + threadIdx.x;
        if (item < kWeightItems) load_weight(packed, weight, reinterpret_cast<char*>(packed_weight), item);
    }
    store(packed, scales, of_weights ? the_weights : the_input, threadIdx.x == 0 && blockIdx.x == (of_weights ? input_blocks() : 0));
}

struct Work : ConvolutionWork {
    typedef PackedOperands Operands;
    typedef PlainConvolution<float, TileEpilogue> Plain;
    static constexpr bool kMasked = MERGE > 1 || AxisD::lacks || AxisH::lacks || AxisW::lacks || (INTERLEAVE == 1 && AxisW::taps > AxisW::of_phase);
    static constexpr int kParts = kOutputPhases, kPlanes = kPlanesInAll, kStages = STEPS / DEPTH;
    __device__ __forceinline__ static int groups() { return kMergedGroups; }
    __device__ __forceinline__ static int groups_a() { return kMergedGroups; }
    __device__ __forceinline__ static int groups_b() { return kMergedGroups; }
    __device__ __forceinline__ static int row_blocks() { return ROW_BLOCKS_IN_ALL; }
    __device__ __forceinline__ static long long columns() { return PACKED_POSITIONS; }
    static_assert(STEPS % DEPTH == 0, "stages have DEPTH steps each");
    __device__ __forceinline__ static int step_shift(int step) {
        return ONE_TAP ? 0 : step / kStageColumns * AxisH::step * AxisW::positions() + step % kStageColumns * TAP_STEP;
    }

    // first_tap splits the index of a stage of a chunk of channels into the coordinates of its first tap.
    static constexpr int kInRow = AxisW::taps / kStageColumns, kInSlice = AxisH::taps / STAGE_ROWS * kInRow;
    __device__ __forceinline__ static Place first_tap(int s) {
        Place stage(s % (AxisD::taps * kInSlice), AxisH::taps / STAGE_ROWS, kInRow);
        stage.h *= STAGE_ROWS;
        stage.w = first_column(stage.w);
        return stage;
    }
    __device__ __forceinline__ static int plane(int s) {
        if (ONE_TAP) return s * DEPTH;
        const Place tap = first_tap(s);
        return ((s / (AxisD::taps * kInSlice) * AxisD::phases + tap.d % AxisD::period) * AxisH::phases + tap.h % AxisH::period) * AxisW::phases +
               tap.w % AxisW::period;
    }
    __device__ __forceinline__ static int shift(int s, const Tile& tile) {
        const Place phase(tile.part, AxisH::output_phases, ROW_PRODUCTS);
        const int start = (AxisD::offset(phase.d) * AxisH::positions() + AxisH::offset(phase.h)) * AxisW::positions() +
                          (INTERLEAVE == 1 ? 0 : AxisW::offset(phase.w * MIXED));
        if (ONE_TAP) return start;
        const Place tap = first_tap(s);
        return start + (tap.d / AxisD::period * AxisD::step * AxisH::positions() + tap.h / AxisH::period * AxisH::step) * AxisW::positions() +
               tap.w / AxisW::period * TAP_STEP;
    }

    struct Output : TileEpilogue {
        struct Given : TileGiven {
            const float* scales;
        };
        static constexpr int kMixed = MIXED;
        static constexpr bool kTwo = false;
        // kWholeBlocks says that all rows of all tiles are channels that exist.
        static constexpr bool kWholeBlocks = (MIXED == 1 || !kIsNone) && ROW_BLOCKS_IN_ALL % kBlocks == 0 &&
                                             kChannelsOut * MIXED == ROW_BLOCKS_IN_ALL * kBlockRows;
        const Element* bias;
        int first_channel;  // first channel of the group
        long long first;    // its first output
        long long apart;    // from each channel to the next
        Place phase;
        bool biased;
        float inverses[2];  // inverses of the powers of two
        __device__ __forceinline__ Output(const Tile& tile, const Given& given)
            : TileEpilogue(given), bias(given.bias + (BIAS ? tile.group * kChannelsOut : 0)),
              first_channel(tile.group * kChannelsOut), first(tile.group * kChannelsOut * output_strides().channel),
              apart(output_strides().channel),
              phase(tile.part, AxisH::output_phases, ROW_PRODUCTS), biased(BIAS && tile.split == 0) {
            if (!kScaled) return;
            inverses[0] = inverse_of(given.scales, the_input);
            inverses[1] = inverse_of(given.scales, the_weights);
        }
        __device__ __forceinline__ long long column(int position, int row) const {
            const Position at(position);
            const int image = at.image;
            const int d = AxisD::output(at.d, phase.d), h = AxisH::output(at.h, phase.h), w = AxisW::output(at.w, phase.w * MIXED + row);
            return image < N && row < AxisW::stride && d < AxisD::out() && h < AxisH::out() && w < AxisW::out()
                       ? first + image * output_strides().image + ((static_cast<long long>(d) * AxisH::out() + h) * AxisW::out() + w) * output_strides().place
                       : -1;
        }
        // A channel that does not exist gets the place of the group's first channel, which lies at `first`.
        __device__ __forceinline__ ConvolutionPlace place(int channel, long long place, long long first) const {
            const bool there = kWholeBlocks || channel < kChannelsOut;
            return output_place(there ? place : first, first_channel + (there ? channel : 0), first);
        }
        template <class Outputs, class... B>
        __device__ __forceinline__ void store(Outputs y, int channel, long long place, float value,
                                              const B&... beside) const {
            if (!kWholeBlocks && channel >= kChannelsOut) return;
            const bool finite = is_finite(value);
            if (kScaled) value = unscaled(value, inverses[0], inverses[1]);
            float sums[1] = {biased ? value + read_only(bias + channel) : value};
            finish<kMasked>(*this, sums, {finite}, beside...);
            y[place] = from_float<Stored>(sums[0]);
        }
    };
};

__device__ __forceinline__ void packed_conv_gemm(const float* packed_x, const float* packed_weight, const float* scales,
                                                 const Work::Plain& plain, Stored* y, uint4* memory) {
    const PackedOperands operands = {reinterpret_cast<const char*>(packed_weight), reinterpret_cast<const char*>(packed_x)};
    packed_gemm<Work>(reinterpret_cast<char*>(memory), operands, {{plain.epilogue, plain.bias}, scales}, y, plain);
}

}  // namespace
