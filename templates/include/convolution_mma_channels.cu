// convolution_mma_channels.cu: channels-last convolutions (1D to 3D) as implicit GEMMs with mma.sync (sm_80 and later).
// The mainloop and the tunables are explained in mma_gemm.cuh. Rows of the GEMM are output pixels, columns are output
// channels, and k runs over kernel taps and input channels. A transposed convolution is computed as one GEMM per output
// phase: outputs whose coordinates have the same remainders modulo the stride (phases.cuh).
//
// The input channels under a kernel tap are contiguous, so each thread copies up to 16 bytes of input or weights along
// k by cp.async. Elements outside of the input are filled with zeros.
#define EXACT_OPERANDS 1
#include "mma_gemm.cuh"
#include "phases.cuh"

namespace {

constexpr int kDepth = C_GROUP * kPhaseTaps;  // the largest k of all output phases
constexpr int kInPiece = 16 / sizeof(Element);  // elements in 16 bytes
constexpr int kWidth = C_GROUP % kInPiece == 0 ? kInPiece : C_GROUP % 4 == 0 ? 4 : C_GROUP % 2 == 0 ? 2 : 1;  // elements per copy

// PhasePixel computes the output pixel of a GEMM row within an output phase of the stride.
struct PhasePixel {
    int n;
    Place at;
    __device__ __forceinline__ explicit PhasePixel(int row)
        : n(row / (PhaseD::kOutputs * PhaseH::kOutputs * PhaseW::kOutputs)),
          at(row % (PhaseD::kOutputs * PhaseH::kOutputs * PhaseW::kOutputs), PhaseH::kOutputs, PhaseW::kOutputs) {}
};

struct Pixels {
    __device__ __forceinline__ static long long of(int row) {
        if (!TRANSPOSED) return row < N * D_OUT * H_OUT * W_OUT ? row : -1;
        const PhaseTile tile(row / TILE_M);
        const PhasePixel pixel(tile.m * TILE_M + row % TILE_M);
        return phase_pixel(tile.phase, pixel.n, pixel.at.d, pixel.at.h, pixel.at.w);
    }
};

struct Tensors {
    const Element *x, *weight;
};

struct Work : ConvolutionWork {
    typedef Tensors Operands;
    typedef PhasesOutput<Pixels> Output;
    __device__ __forceinline__ static constexpr int stages(int taps) { return (taps * C_GROUP + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth); }
    static constexpr int kStages = (kDepth + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth);
    __device__ __forceinline__ static int groups() { return GROUPS; }
};

}  // namespace

template <>
struct TileStages<Work> {
    __device__ __forceinline__ static Stages of(const Tile& tile) { return phase_stages<Work>(tile); }
};

namespace {

// OffsetOf selects int for offsets into the input if int suffices, which saves registers.
template <bool Short>
struct OffsetOf {
    typedef int type;
};
template <>
struct OffsetOf<false> {
    typedef long long type;
};
typedef OffsetOf<static_cast<long long>(N) * C * D * H * W < (1ll << 30)>::type Offset;
constexpr bool kFlat = KERNEL_D == 1 && D == 1 && PADDING_D == 0;  // no depth axis

// Tap holds the offsets of the input and the weight that are multiplied at one element of k.
struct Tap {
    int d, h, w, weight;
    bool there;
    Offset offset;
    __device__ __forceinline__ Tap(int k, const Phase& phase) : weight(k) {
        const Place tap = phase.place(k / C_GROUP);
        d = tap.d * TAP_STEP_D, h = tap.h * TAP_STEP_H, w = tap.w * TAP_STEP_W;
        offset = ((static_cast<Offset>(d) * H + h) * W + w) * C + k % C_GROUP;
        there = (kEvenPhases && kDepth % (DEPTH * kStepDepth) == 0) || k < phase.taps() * C_GROUP;
        if (TRANSPOSED) weight = phase.tap(tap) * C_GROUP + k % C_GROUP;
    }
};

// Pixel locates the input element under an output pixel's first kernel tap.
struct Pixel {
    int d, h, w;
    Offset offset;
};

// ChannelFetch issues one thread's copies of input and weights: 16 bytes along k of every kLines-th row of A and column
// of B.
struct ChannelFetch {
    static constexpr int kLines = THREADS / PIECES;  // rows or columns that the block copies at once
    static constexpr int kRoundsA = TILE_M / kLines, kRounds = kRoundsA + TILE_N / kLines, kShares = kStagePhases > 1 ? kStagePhases - 1 : 1;
    static_assert(THREADS % PIECES == 0 && TILE_M % kLines == 0 && TILE_N % kLines == 0, "threads keep to their lines");

    static constexpr int kColumnDepth = C_GROUP * kTapsApart;  // k elements of a column of B in memory

    const Tensors tensors;
    const PhaseTile place;
    const Phase phase;
    const int piece, line, first_column;  // within the group
    const long long weights;              // offset of the thread's first column of B
    Pixel pixel[kRoundsA];

    __device__ __forceinline__ ChannelFetch(const Tensors& tensors, const Tile& tile)
        : tensors(tensors), place(tile.m), phase(place.phase), piece(threadIdx.x % PIECES), line(threadIdx.x / PIECES), first_column(tile.n * TILE_N + line),
          weights((static_cast<long long>(tile.group) * kGroupColumns + first_column) * kColumnDepth) {
#pragma unroll
        for (int i = 0; i < kRoundsA; ++i) {
            const PhasePixel of(place.m * TILE_M + i * kLines + line);
            Pixel& p = pixel[i];
            p.d = kFlat ? 0 : phase.d.input(of.at.d, 0), p.h = phase.h.input(of.at.h, 0), p.w = phase.w.input(of.at.w, 0);
            p.offset = (((static_cast<Offset>(of.n) * D + p.d) * H + p.h) * W + p.w) * C + tile.group * C_GROUP;
            if (of.n >= N) p.h = -(1 << 30);  // outside of the input for every tap
        }
    }

    __device__ __forceinline__ int at(int s) const { return s * DEPTH * kStepDepth + piece * kInPiece; }

    __device__ __forceinline__ static void copy(char* to, const Element* from, bool there) {
        constexpr int bytes = kWidth * sizeof(Element);
        if constexpr (bytes >= 4)
            async_copy<bytes>(to, from, there);
        else
            *reinterpret_cast<unsigned short*>(to) = there ? __ldg(reinterpret_cast<const unsigned short*>(from)) : 0;
    }
    __device__ __forceinline__ void share(char* stage, int /*s*/, int k, int part) const {
        char* const rows = stage + piece * kRowSlabBytes;
        char* const columns = stage + STAGE_A_BYTES + piece * kSlabBytes + line * 16;
#pragma unroll(kWidth * 2 < kInPiece ? 1 : 2)  // narrow copies are not unrolled
        for (int i = 0; i < kInPiece; i += kWidth) {
            const Tap tap(k + i, phase);
#pragma unroll
            for (int round = 0; round < kRounds; ++round) {
                if (round * kShares / kRounds != part) continue;
                if (round < kRoundsA) {
                    const Pixel& p = pixel[round < kRoundsA ? round : 0];
                    const int row = round * kLines + line;
                    const bool there = tap.there && (kFlat || static_cast<unsigned>(p.d + tap.d) < D) && static_cast<unsigned>(p.h + tap.h) < H &&
                                       static_cast<unsigned>(p.w + tap.w) < W;
                    copy(rows + row / kBlockRows * DEPTH * kStepBytes + row % kBlockRows * 16 + i * sizeof(Element),
                         there ? tensors.x + p.offset + tap.offset : tensors.x, there);
                } else {
                    const int column = (round - kRoundsA) * kLines;
                    const bool there = tap.there && first_column + column < kGroupColumns;
                    copy(columns + column * 16 + i * sizeof(Element),
                         there ? tensors.weight + weights + static_cast<long long>(column) * kColumnDepth + tap.weight : tensors.weight, there);
                }
            }
        }
    }
    __device__ __forceinline__ void all(char* stage, int s) const {
#pragma unroll
        for (int part = 0; part < kShares; ++part) share(stage, s, at(s), part);
    }
};

}  // namespace

// convolution_mma_channels_turn reorders the weights of a transposed convolution so that they are contiguous along k.
extern "C" __global__ void __launch_bounds__(256)
    convolution_mma_channels_turn(const Element* __restrict__ weight, Element* __restrict__ turned_weight) {
    begin_dependents();
    if constexpr (TRANSPOSED) turn_weights<kWidth>(turned_weight, weight, [](float w) { return w; });
}

extern "C" __global__ void __launch_bounds__(THREADS)
    convolution_mma_channels(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* turned_weight,
                             const Element* __restrict__ bias, Stored* y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    mma_gemm<Work, ChannelFetch>(reinterpret_cast<char*>(memory), {x, TRANSPOSED ? turned_weight : weight},
                                 {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_mma_channels_sum(const float* partial_sums, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
