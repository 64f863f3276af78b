// conv2d as a matrix product on Hopper's warpgroup products (sm_90a), for any number of
// channels, kernel, stride, padding, dilation and groups.
//
// The idea. A first launch writes input and weights anew, rounded (or split into parts
// of bf16) and in the order that products take their operands in (slab_operands.cuh).
// The second is a pipeline between the copy engine and the tensor cores (slab_gemm.cuh)
// and never computes an address of a pixel: in the packed input, every output is a
// position, and every tap of the kernel reads a constant number of positions further on.
//
// The packed input.
//   1. Channels in steps of 16; a step is a plane of positions, of all images.
//   2. A row of positions is PITCH long: its outputs, and what their taps reach behind
//      them. Zeros of the padding stand between rows and between images; at stride 1
//      those that end a row begin the next one, too.
//   3. A stride splits rows and columns into phases, each a plane of its own: outputs
//      that are a stride apart in the input are neighbours there.
//   4. With few channels, the kernel's columns (FOLD_W), or all its taps (FOLD_H), are
//      channels: three channels of a 7 x 7 kernel are 7 taps of 21 channels in 32, not
//      49 taps of 3 in 16.
//   5. MERGE groups are one with as many more channels, whose weights are zeros where
//      the groups do not meet: tensor cores multiply 64 rows or none.
//
// A stage of the pipeline is DEPTH taps of a row of the kernel, which share one stretch
// of a plane; of a kernel of one tap, DEPTH steps of channels.
//
// It costs the packed input's way to memory and back: little for kernels of many taps
// and channels, half of all for those that hardly multiply.
//
// What the tunables trade is told in slab_gemm.cuh.
#include "problem.cuh"
#ifndef COLUMNS
#define ARRANGEMENT stacked
#define ROW_BLOCKS 1
#define COLUMNS 256
#define DEPTH 3
#define STAGES 4
#define MERGE 1
#define FOLD_W 0
#define FOLD_H 0
#define CHANNELS 16
#define TAPS_H 3
#define TAPS_W 3
#define PERIOD_H 1
#define PERIOD_W 1
#define PHASES_H 1
#define PHASES_W 1
#define STEP_H 1
#define STEP_W 1
#define POSITION_PITCH 1024
#define POSITION_ROWS 1024
#define POSITIONS 16777216
#define PACKED_POSITIONS 16779784
#define CHUNKS 1
#define ROW_BLOCKS_IN_ALL 2
#define TILE_M 128
#define TILE_N 256
#define SPAN 258
#define PLANES 1
#define TILES_M 1
#define TILES_N 65536
#define THREADS 384
#define SHARED_BYTES 185000
#endif
#include "slab_gemm.cuh"

namespace {

constexpr int kMergedGroups = GROUPS / MERGE;
constexpr int kChannelsIn = C_GROUP * MERGE, kChannelsOut = C_OUT_GROUP * MERGE;  // of a merged group
constexpr int kPlanesInAll = CHUNKS * PHASES_H * PHASES_W;                        // of a merged group
constexpr int kSteps = CHUNKS * TAPS_H * TAPS_W;                                  // of k
constexpr bool kOneTap = TAPS_H * TAPS_W == 1;
constexpr int kPlane = H * W;

// A channel of the packed form: an input channel, and a tap where those are folded.
struct Channel {
    int channel, y, x;
    __device__ __forceinline__ explicit Channel(int packed)
        : channel(packed % kChannelsIn), y(FOLD_H ? packed / kChannelsIn / KERNEL_W : 0),
          x(FOLD_W ? packed / kChannelsIn % KERNEL_W : 0) {}
};

// The kernel's columns in the order in which stages take them: DEPTH of one phase each.
__device__ __forceinline__ constexpr int first_column(int stage) {
    return stage % PERIOD_W + stage / PERIOD_W * (DEPTH * PERIOD_W);
}
__device__ __forceinline__ constexpr int column_at(int place) {
    return kOneTap ? 0 : first_column(place / DEPTH) + place % DEPTH * PERIOD_W;
}

// pack_input writes eight channels of a position.
__device__ __forceinline__ void pack_input(const float* x, char* packed, long long item) {
    const long long position = item % PACKED_POSITIONS;
    const int half = item / PACKED_POSITIONS % 2;
    const int plane = item / (2ll * PACKED_POSITIONS) % kPlanesInAll;
    const int group = item / (2ll * PACKED_POSITIONS * kPlanesInAll);
    const int phase_x = plane % PHASES_W, phase_y = plane / PHASES_W % PHASES_H, chunk = plane / (PHASES_W * PHASES_H);

    const int image = position / (POSITION_ROWS * POSITION_PITCH);
    const int top = position / POSITION_PITCH % POSITION_ROWS * STRIDE_H - PADDING_H;
    const int left = position % POSITION_PITCH * STRIDE_W - PADDING_W;
    const float* const from = x + (static_cast<long long>(image) * C + group * kChannelsIn) * kPlane;
    float v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int index = chunk * 16 + half * 8 + i;
        const Channel c(index);
        const int row = top + (phase_y + c.y) * DILATION_H, column = left + (phase_x + c.x) * DILATION_W;
        const bool inside = image < N && index < CHANNELS && row >= 0 && row < H && column >= 0 && column < W;
        v[i] = inside ? __ldg(from + static_cast<long long>(c.channel) * kPlane + row * W + column) : 0.0f;
    }
    constexpr long long apart = static_cast<long long>(PACKED_POSITIONS) * 16;
    store_half(packed + (static_cast<long long>(group) * kPlanesInAll + plane) * 4 * apart + position * 16, apart, half, v);
}

// pack_weight writes half a step of a row.
__device__ __forceinline__ void pack_weight(const float* weight, char* packed, long long item) {
    const int place = item % TAPS_W, half = item / TAPS_W % 2, row = item / (2 * TAPS_W) % (ROW_BLOCKS_IN_ALL * kBlockRows);
    const int rest = item / (2ll * TAPS_W * ROW_BLOCKS_IN_ALL * kBlockRows);
    const int tap_y = rest % TAPS_H, chunk = rest / TAPS_H % CHUNKS, group = rest / (TAPS_H * CHUNKS);
    const int tap_x = column_at(place);
    const float* const from =
        weight + (static_cast<long long>(group) * kChannelsOut + row) * (C_GROUP * KERNEL_H * KERNEL_W);
    float v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int index = chunk * 16 + half * 8 + i;
        const Channel c(index);
        const bool there = row < kChannelsOut && index < CHANNELS && c.channel / C_GROUP == row / C_OUT_GROUP;
        v[i] = there ? __ldg(from + (c.channel % C_GROUP * KERNEL_H + tap_y + c.y) * KERNEL_W + tap_x + c.x) : 0.0f;
    }
    const int step = (chunk * TAPS_H + tap_y) * TAPS_W + place;
    const long long block = static_cast<long long>(group) * ROW_BLOCKS_IN_ALL + row / kBlockRows;
    store_half(packed + (block * kSteps + step) * kBlockStepBytes + row % kBlockRows * 16, kBlockRows * 16, half, v);
}

constexpr long long kInputItems = 2ll * kMergedGroups * kPlanesInAll * PACKED_POSITIONS;
constexpr long long kWeightItems = 2ll * kMergedGroups * kSteps * ROW_BLOCKS_IN_ALL * kBlockRows;

struct Work {
    static constexpr int kGroups = kMergedGroups, kRowBlocks = ROW_BLOCKS_IN_ALL, kTilesM = TILES_M, kTilesN = TILES_N;
    static constexpr int kPlanes = kPlanesInAll, kStages = kSteps / DEPTH, kShift = STEP_W;
    static constexpr long long kColumns = PACKED_POSITIONS;
    static_assert(kSteps % DEPTH == 0 && (kOneTap || TAPS_W % DEPTH == 0), "stages have DEPTH steps each");

    static constexpr int kInRow = kOneTap ? 1 : TAPS_W / DEPTH;  // stages of a row of the kernel
    __device__ __forceinline__ static int plane(int s) {
        if (kOneTap) return s * DEPTH;
        const int x = s % kInRow, y = s / kInRow % TAPS_H;
        return (s / (kInRow * TAPS_H) * PHASES_H + y % PERIOD_H) * PHASES_W + first_column(x) % PERIOD_W;
    }
    __device__ __forceinline__ static int shift(int s) {
        if (kOneTap) return 0;
        const int x = s % kInRow, y = s / kInRow % TAPS_H;
        return y / PERIOD_H * STEP_H * POSITION_PITCH + first_column(x) / PERIOD_W * STEP_W;
    }

    struct Output {
        typedef const float* Given;  // the bias
        const float* bias;
        long long plane;  // of the group's first channel
        __device__ __forceinline__ Output(const Tile& tile, Given given)
            : bias(given + (BIAS ? tile.group * kChannelsOut : 0)), plane(static_cast<long long>(tile.group) * kChannelsOut * PLANE) {}
        __device__ __forceinline__ long long column(int position) const {
            const int column = position % POSITION_PITCH, row = position / POSITION_PITCH % POSITION_ROWS;
            const int image = position / (POSITION_PITCH * POSITION_ROWS);
            return image < N && row < H_OUT && column < W_OUT
                       ? plane + static_cast<long long>(image) * (C_OUT * static_cast<long long>(PLANE)) + row * W_OUT + column
                       : -1;
        }
        __device__ __forceinline__ void store(float* y, int row, long long place, float value) const {
            if (row < kChannelsOut) y[place + static_cast<long long>(row) * PLANE] = BIAS ? value + __ldg(bias + row) : value;
        }
    };
};

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    conv2d_pipelined_gemm_pack(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ packed_x,
                               float* __restrict__ packed_weight) {
    constexpr int input_blocks = (kInputItems + 255) / 256;
    if (blockIdx.x < input_blocks) {
        const long long item = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
        if (item < kInputItems) pack_input(x, reinterpret_cast<char*>(packed_x), item);
    } else {
        const long long item = static_cast<long long>(blockIdx.x - input_blocks) * 256 + threadIdx.x;
        if (item < kWeightItems) pack_weight(weight, reinterpret_cast<char*>(packed_weight), item);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv2d_pipelined_gemm(const float* __restrict__ packed_x, const float* __restrict__ packed_weight,
                          const float* __restrict__ bias, float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    slab_gemm<Work>(reinterpret_cast<char*>(memory), reinterpret_cast<const char*>(packed_weight),
                    reinterpret_cast<const char*>(packed_x), bias, y);
}
