// phases.cuh: the taps of an output, for products whose rows are pixels of a channels-last output.
//
// All outputs of an ordinary convolution have the same taps. The outputs of a transposed convolution fall into phases:
// outputs that are a stride apart. All outputs of a phase have the same taps of the kernel, and with each tap they read
// neighbouring pixels. A phase is therefore a convolution with fewer taps, whose outputs are written a stride apart.
// With stride 1 there is only one phase, and the only difference from an ordinary convolution is the opposite order of
// taps.
//
// Each tile belongs to one phase. Phases may have different numbers of taps, so the tiles of all phases alternate
// (PhaseTile).
//
// JOINED: if the kernel is as large as the stride, all phases have one tap and read the same pixel. The phases are then
// joined to one product, whose columns are the channels of all phases, so that the input is read only once; a row of
// sums is distributed over the pixels of all phases.
//
// op.yaml derives two distances for each axis, both from a phase's tap to its next: APART in taps of the kernel, and
// TAP_STEP in pixels of the input.
#pragma once
#include "channels_output.cuh"
#include "place.cuh"

// AxisPhase computes which inputs the outputs of a phase read along an axis. A phase without taps reads outside of the
// input, where elements are zeros.
template <int In, int Out, int Kernel, int Stride, int Padding, int Dilation, int Apart, int Step>
struct AxisPhase {
    static constexpr int kPhases = TRANSPOSED && !JOINED ? Stride : 1;
    static constexpr int kOutputs = (Out + (TRANSPOSED ? Stride : 1) - 1) / (TRANSPOSED ? Stride : 1);  // of a phase
    static constexpr int kTaps = (Kernel + Apart - 1) / Apart;                                           // at most
    static constexpr bool kEven = !TRANSPOSED || (Kernel % Apart == 0 && Apart == Stride);               // all have as many

    int count, last;  // number of taps; the kernel's last of them reads the first pixel
    int first;        // the pixel that it reads for output 0
    __device__ __forceinline__ explicit AxisPhase(int phase) : count(kTaps), last(0), first(-Padding) {
        if (!TRANSPOSED) return;
        int lowest = Kernel;  // lowest of the kernel's taps
#pragma unroll
        for (int tap = Apart - 1; tap >= 0; --tap)
            if ((phase + Padding - tap * Dilation) % Stride == 0) lowest = tap;
        const bool any = lowest < Kernel;
        count = kEven ? kTaps : any ? (Kernel - 1 - lowest) / Apart + 1 : 1;
        last = any ? lowest + (count - 1) * Apart : 0;
        first = any ? (phase + Padding - last * Dilation) / Stride : In;
    }
    __device__ __forceinline__ int taps() const { return kEven ? kTaps : count; }
    // tap returns the kernel's tap for a phase's tap `index`; tap 0 of a phase reads the first pixel.
    __device__ __forceinline__ int tap(int index) const { return TRANSPOSED ? last - index * Apart : index; }
    // input returns the pixel that a tap reads for an output of the phase.
    __device__ __forceinline__ int input(int output, int index) const { return output * (TRANSPOSED ? 1 : Stride) + first + index * Step; }
};
#define AXIS_PHASE(X) AxisPhase<X, X##_OUT, KERNEL_##X, STRIDE_##X, PADDING_##X, DILATION_##X, APART_##X, TAP_STEP_##X>
typedef AXIS_PHASE(D) PhaseD;
typedef AXIS_PHASE(H) PhaseH;
typedef AXIS_PHASE(W) PhaseW;

constexpr int kTilePhases = PhaseD::kPhases * PhaseH::kPhases * PhaseW::kPhases;  // phases with tiles of their own
constexpr int kPhaseTaps = PhaseD::kTaps * PhaseH::kTaps * PhaseW::kTaps;         // at most
constexpr bool kEvenPhases = PhaseD::kEven && PhaseH::kEven && PhaseW::kEven;

struct Phase {
    PhaseD d;
    PhaseH h;
    PhaseW w;
    __device__ __forceinline__ explicit Phase(const Place& phase) : d(phase.d), h(phase.h), w(phase.w) {}
    __device__ __forceinline__ explicit Phase(int index) : Phase(Place(index, PhaseH::kPhases, PhaseW::kPhases)) {}
    __device__ __forceinline__ int taps() const { return d.taps() * h.taps() * w.taps(); }
    // place returns the coordinates of a phase's tap, and tap the index of that tap in the kernel.
    __device__ __forceinline__ Place place(int index) const { return Place(index, h.taps(), w.taps()); }
    __device__ __forceinline__ int tap(const Place& at) const {
        return JOINED ? 0 : (d.tap(at.d) * KERNEL_H + h.tap(at.h)) * KERNEL_W + w.tap(at.w);
    }
};

// PhaseTile computes the phase of a row of tiles, and the index of the row within that phase. The order of phases
// changes from round to round: a block takes every gridDim.x-th tile, and with a fixed order it might only get tiles of
// few phases.
struct PhaseTile {
    int phase, m;
    __device__ __forceinline__ explicit PhaseTile(int row) : phase(0), m(row) {
        if (kTilePhases == 1) return;
        const int turn = row / kInStep, round = turn / kTilePhases;
        phase = (turn + round) % kTilePhases;
        m = round * kInStep + row % kInStep;
    }
};

// phase_pixel returns the index in memory of a phase's output pixel, or a negative number if it does not exist.
__device__ __forceinline__ long long phase_pixel(int phase, int n, int d, int h, int w) {
    if (TRANSPOSED) {
        const Place first(phase, PhaseH::kPhases, PhaseW::kPhases);
        d = d * STRIDE_D + first.d, h = h * STRIDE_H + first.h, w = w * STRIDE_W + first.w;
    }
    const bool there = w < W_OUT && h < H_OUT && n < N && (!TRANSPOSED || STRIDE_D == 1 || d < D_OUT);
    return there ? ((static_cast<long long>(n) * D_OUT + d) * H_OUT + h) * W_OUT + w : -1;
}

// phase_stages returns the stages that one split of a tile computes, which depend on the number of taps of the tile's
// phase.
template <class Work>
__device__ __forceinline__ Stages phase_stages(const Tile& tile) {
    if (kEvenPhases) return stages_of<Work::kStages>(tile.split);
    const int stages = Work::stages(Phase(PhaseTile(tile.m).phase).taps());
    return {tile.split * stages / SPLITS, (tile.split + 1) * stages / SPLITS};
}

// ---- Columns are the channels of folded groups, or of one group in all phases if phases are joined. A phase has a
// multiple of eight columns, so that eight neighbouring columns belong to one phase.

#ifdef FOLD
constexpr int kFolded = FOLD;
#else
constexpr int kFolded = 1;
#endif
constexpr int kChannelsOut = C_OUT_GROUP * kFolded, kChannelsIn = C_GROUP * kFolded;
constexpr int kPhaseColumns = JOINED ? (kChannelsOut + 7) / 8 * 8 : kChannelsOut;
constexpr int kGroupColumns = JOINED ? kPhaseColumns * kKernelVolume : kChannelsOut;  // in a group
constexpr int kTapsApart = JOINED ? 1 : kKernelVolume;                           // in a column

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
    // pixels_on returns the distance in pixels from the output pixel of phase 0 to that of a column's phase.
    __device__ __forceinline__ static long long pixels_on(int column) {
        const Place to(column / kPhaseColumns, KERNEL_H, KERNEL_W);
        return (static_cast<long long>(to.d) * H_OUT + to.h) * W_OUT + to.w;
    }
};

// ---- Weights.

// turn_weights transposes the weights of a transposed convolution, whose output channels are contiguous: afterwards the
// input channels are contiguous, as for a convolution. Neighbouring threads read neighbouring weights, and each thread
// writes Width channels at a time. `make` converts a weight to the stored form.
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
            const int in = first + j;  // weights between folded groups are zeros
            const bool there = out < kChannelsOut && in / C_GROUP == out / C_OUT_GROUP;
            const long long pair = (static_cast<long long>(column / kGroupColumns) * kChannelsIn + in) * kKernelVolume + of_kernel;
            v[j] = make(there ? read_only(weight + pair * C_OUT_GROUP + out % C_OUT_GROUP) : 0.0f);
        }
        store_elements<Width>(to + (static_cast<long long>(column) * kTapsApart + tap) * kChannelsIn + first, v);
    }
}
