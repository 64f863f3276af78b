// phases.cuh: which taps an output has, for products whose rows are pixels of a channels-last output.
//
// All outputs of a convolution have the same taps. A transposed one has phases: outputs that are a stride apart. Those of
// a phase have the same taps of the kernel, and with each tap they read neighbouring pixels. So a phase is a convolution
// of fewer taps, and its outputs are written a stride apart. With stride 1 there is one phase; then all that differs
// from a convolution is that the taps come in the opposite order.
//
// Tiles are of one phase. Phases may have different numbers of taps, so tiles of all phases take turns (PhaseTile).
//
// JOINED: where the kernel is as large as the stride, all phases have one tap, and all read the same pixel. Then they are
// one product, whose columns are channels of all phases; a row's go to as many pixels. So the input is read once.
//
// op.yaml derives two distances along each axis, from a phase's tap to its next: APART counts taps of the kernel,
// TAP_STEP pixels of the input.
#pragma once
#include "channels_output.cuh"
#include "place.cuh"

// AxisPhase is what a phase's outputs read along an axis. A phase without taps reads what lies outside.
template <int In, int Out, int Kernel, int Stride, int Padding, int Dilation, int Apart, int Step>
struct AxisPhase {
    static constexpr int kPhases = TRANSPOSED && !JOINED ? Stride : 1;
    static constexpr int kOutputs = (Out + (TRANSPOSED ? Stride : 1) - 1) / (TRANSPOSED ? Stride : 1);  // of a phase
    static constexpr int kTaps = (Kernel + Apart - 1) / Apart;                                           // at most
    static constexpr bool kEven = !TRANSPOSED || (Kernel % Apart == 0 && Apart == Stride);               // all have as many

    int count, last;  // taps, and the kernel's last of them, which reads the first pixel
    int first;        // pixel that it reads for output 0
    __device__ __forceinline__ explicit AxisPhase(int phase) : count(kTaps), last(0), first(-Padding) {
        if (!TRANSPOSED) return;
        int lowest = Kernel;  // of the kernel's taps
#pragma unroll
        for (int tap = Apart - 1; tap >= 0; --tap)
            if ((phase + Padding - tap * Dilation) % Stride == 0) lowest = tap;
        const bool any = lowest < Kernel;
        count = kEven ? kTaps : any ? (Kernel - 1 - lowest) / Apart + 1 : 1;
        last = any ? lowest + (count - 1) * Apart : 0;
        first = any ? (phase + Padding - last * Dilation) / Stride : In;
    }
    __device__ __forceinline__ int taps() const { return kEven ? kTaps : count; }
    // tap is the kernel's that is a phase's, counted from the first pixel on.
    __device__ __forceinline__ int tap(int index) const { return TRANSPOSED ? last - index * Apart : index; }
    // input is the pixel that a tap reads for an output of the phase.
    __device__ __forceinline__ int input(int output, int index) const { return output * (TRANSPOSED ? 1 : Stride) + first + index * Step; }
};
#define AXIS_PHASE(X) AxisPhase<X, X##_OUT, KERNEL_##X, STRIDE_##X, PADDING_##X, DILATION_##X, APART_##X, TAP_STEP_##X>
typedef AXIS_PHASE(D) PhaseD;
typedef AXIS_PHASE(H) PhaseH;
typedef AXIS_PHASE(W) PhaseW;

constexpr int kTilePhases = PhaseD::kPhases * PhaseH::kPhases * PhaseW::kPhases;  // that tiles have
constexpr int kPhaseTaps = PhaseD::kTaps * PhaseH::kTaps * PhaseW::kTaps;         // at most
constexpr bool kEvenPhases = PhaseD::kEven && PhaseH::kEven && PhaseW::kEven;

struct Phase {
    PhaseD d;
    PhaseH h;
    PhaseW w;
    __device__ __forceinline__ explicit Phase(const Place& phase) : d(phase.d), h(phase.h), w(phase.w) {}
    __device__ __forceinline__ explicit Phase(int index) : Phase(Place(index, PhaseH::kPhases, PhaseW::kPhases)) {}
    __device__ __forceinline__ int taps() const { return d.taps() * h.taps() * w.taps(); }
    // place is a tap's along the axes, and tap which of the kernel's that is.
    __device__ __forceinline__ Place place(int index) const { return Place(index, h.taps(), w.taps()); }
    __device__ __forceinline__ int tap(const Place& at) const {
        return JOINED ? 0 : (d.tap(at.d) * KERNEL_H + h.tap(at.h)) * KERNEL_W + w.tap(at.w);
    }
};

// PhaseTile is which phase a row of tiles is of, and the phase's which. A block takes one tile in so many: it would
// have tiles of few phases if these followed each other in the same order throughout.
struct PhaseTile {
    int phase, m;
    __device__ __forceinline__ explicit PhaseTile(int row) : phase(0), m(row) {
        if (kTilePhases == 1) return;
        const int turn = row / kInStep, round = turn / kTilePhases;
        phase = (turn + round) % kTilePhases;
        m = round * kInStep + row % kInStep;
    }
};

// phase_pixel is the output in memory of a phase's in an image; negative if there is none.
__device__ __forceinline__ long long phase_pixel(int phase, int n, int d, int h, int w) {
    if (TRANSPOSED) {
        const Place first(phase, PhaseH::kPhases, PhaseW::kPhases);
        d = d * STRIDE_D + first.d, h = h * STRIDE_H + first.h, w = w * STRIDE_W + first.w;
    }
    const bool there = w < W_OUT && h < H_OUT && n < N && (!TRANSPOSED || STRIDE_D == 1 || d < D_OUT);
    return there ? ((static_cast<long long>(n) * D_OUT + d) * H_OUT + h) * W_OUT + w : -1;
}

// phase_stages are those that a tile has of its phase, whose every tap has so many elements of k.
template <class Work>
__device__ __forceinline__ Stages phase_stages(const Tile& tile) {
    if (kEvenPhases) return stages_of<Work::kStages>(tile.split);
    const int stages = Work::stages(Phase(PhaseTile(tile.m).phase).taps());
    return {tile.split * stages / SPLITS, (tile.split + 1) * stages / SPLITS};
}

// ---- Columns: channels of folded groups, or of one group in all phases, where those are joined. Of a phase they
// are a multiple of eight, so that eight neighbours are of one.

#ifdef FOLD
constexpr int kFolded = FOLD;
#else
constexpr int kFolded = 1;
#endif
constexpr int kChannelsOut = C_OUT_GROUP * kFolded, kChannelsIn = C_GROUP * kFolded;
constexpr int kPhaseColumns = JOINED ? (kChannelsOut + 7) / 8 * 8 : kChannelsOut;
constexpr int kGroupColumns = JOINED ? kPhaseColumns * kKernelVolume : kChannelsOut;  // of a group
constexpr int kTapsApart = JOINED ? 1 : kKernelVolume;                           // of a column

template <class Pixels>
struct PhasesOutput : ChannelsOutput<Pixels, kChannelsOut> {
    typedef ChannelsOutput<Pixels, kChannelsOut> Channels;
    __device__ __forceinline__ PhasesOutput(const Tile& tile, const TileGiven& given) : Channels(tile, given) {}
    __device__ __forceinline__ float2 beside(int column) const { return Channels::beside(JOINED ? column % kPhaseColumns : column); }
    __device__ __forceinline__ void store(Stored* line, int column, const float* words) const {
        if (!JOINED) return Channels::store(line, column, words);
        if (column >= kGroupColumns) return;
        Channels::store(line + pixels_on(column) * C_OUT, column % kPhaseColumns, words);
    }
    __device__ __forceinline__ PixelPlace<kChannelsOut> place(int row, int column) const {
        if (!JOINED) return Channels::place(row, column);
        return Channels::place(row, column % kPhaseColumns, column < kGroupColumns ? pixels_on(column) : 0);
    }

   private:
    // pixels_on is how many pixels behind a row's that of a column's phase is.
    __device__ __forceinline__ static long long pixels_on(int column) {
        const Place to(column / kPhaseColumns, KERNEL_H, KERNEL_W);
        return (static_cast<long long>(to.d) * H_OUT + to.h) * W_OUT + to.w;
    }
};

// ---- Weights.

// turn_weights makes columns of a transposed convolution's weights, whose channels of the output lie side by side: the
// others do then, as a convolution's. Neighbouring threads read neighbours, and each writes Width channels at a time.
// `make` makes what is written of a weight.
template <int Width, class Factor, class Make>
__device__ __forceinline__ void turn_weights(Factor* to, const Element* weight, const Make& make) {
    constexpr long long columns = static_cast<long long>(GROUPS / kFolded) * kGroupColumns, items = columns * kTapsApart * (kChannelsIn / Width);
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < items; i += gridDim.x * 256ll) {
        const int column = i % columns, tap = i / columns % kTapsApart, first = i / columns / kTapsApart * Width;
        const int of_group = column % kGroupColumns, out = of_group % kPhaseColumns;
        const int of_kernel = JOINED ? of_group / kPhaseColumns : tap;
        float v[Width];
#pragma unroll
        for (int j = 0; j < Width; ++j) {
            const int in = first + j;  // groups that are folded meet themselves alone
            const bool there = out < kChannelsOut && in / C_GROUP == out / C_OUT_GROUP;
            const long long pair = (static_cast<long long>(column / kGroupColumns) * kChannelsIn + in) * kKernelVolume + of_kernel;
            v[j] = make(there ? read_only(weight + pair * C_OUT_GROUP + out % C_OUT_GROUP) : 0.0f);
        }
        store_elements<Width>(to + (static_cast<long long>(column) * kTapsApart + tap) * kChannelsIn + first, v);
    }
}
