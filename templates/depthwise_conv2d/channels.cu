// depthwise_conv2d, channels: for channels-last images. Each thread computes a few channels of neighbouring outputs.
//
// The block first copies its channels' weights to shared memory. A thread loads VEC channels of an input pixel at a
// time, and multiplies each input row by all kernel rows that apply to it.
//
// Tunables:
//   block_x, block_y: threads along the channels, and along the outputs
//   vec:              channels per thread
//   rows, columns:    outputs per thread
//   blocks_per_sm:    blocks per multiprocessor for which the compiler limits registers
//   streaming:        whether stores are streaming, so that the inputs stay in the L2
#include "channels.cuh"

constexpr int Taps = TAPS;

struct Windows : Epilogue {
    const float* taps; // the thread's channels of the first tap
    float start[VEC];
    float sums[ROWS][COLUMNS][VEC];

    static __device__ __forceinline__ float outside() { return 0.0f; }

    __device__ __forceinline__ void load_tap(float (&to)[VEC], int tap) const {
        constexpr int Vector = VEC < 4 ? VEC : 4;
#pragma unroll
        for (int e = 0; e < VEC; e += Vector) load_vector<Vector>(to + e, taps + tap * BlockChannels + e);
    }

    __device__ __forceinline__ void begin(int r) {
#pragma unroll
        for (int k = 0; k < COLUMNS * VEC; ++k) sums[r][k / VEC][k % VEC] = start[k % VEC];
    }

    __device__ __forceinline__ void join_row(const float (&span)[SpanColumns][VEC], int, int row) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int tap = row_tap(row, r);
            if (tap < 0) continue;
            if (tap == 0) begin(r);
#pragma unroll
            for (int k = 0; k < KERNEL_W; ++k) {
                float factors[VEC];
                load_tap(factors, tap * KERNEL_W + k);
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
                    for (int e = 0; e < VEC; ++e) sums[r][c][e] += factors[e] * span[c * STRIDE_W + k * DILATION_W][e];
            }
        }
    }

    __device__ __forceinline__ void join_tap(const float (&values)[VEC], int, int h, int w) {
        if (h + w == 0) begin(0);
        float factors[VEC];
        load_tap(factors, h * KERNEL_W + w);
#pragma unroll
        for (int e = 0; e < VEC; ++e) sums[0][0][e] += factors[e] * values[e];
    }

    __device__ __forceinline__ void output(float (&outputs)[VEC], const Group&, int, int r, int c) const {
#pragma unroll
        for (int e = 0; e < VEC; ++e) outputs[e] = sums[r][c][e];
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, BLOCKS_PER_SM)
depthwise_conv2d_channels(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                          Element* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float staged[];
    const int first = first_channel(), own = threadIdx.x * VEC;
    const int channels = min(C - first, BlockChannels);
    for (int k = threadIdx.y * BLOCK_X + threadIdx.x; k < channels * Taps; k += BLOCK_X * BLOCK_Y)
        staged[k % Taps * BlockChannels + k / Taps] = read_only(weight + (long long)first * Taps + k);
    __syncthreads();

    Windows windows;
    if constexpr (!Epilogue::kIsNone) static_cast<Epilogue&>(windows) = {EPILOGUE_ARGUMENTS};
    windows.taps = staged + own;
#pragma unroll
    for (int e = 0; e < VEC; ++e) windows.start[e] = BIAS && own < channels ? read_only(bias + first + own + e) : 0.0f;
    slide(x, y, windows);
}
