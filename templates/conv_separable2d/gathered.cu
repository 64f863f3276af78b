// conv_separable2d on Hopper's warpgroup products (sm_90a): the result of the depthwise convolution is never written to
// global memory. The pointwise convolution is a matrix product whose rows are output channels, whose columns are output
// places, and whose k is the input channels. Producer warps compute the depthwise sums of a column's channels and store
// them in shared memory as operands (gathered_operands.cuh), rounded to TF32 or split into three parts of bf16. A tile
// with all output channels computes each depthwise sum only once. The tunables are those of slab_gemm.cuh.
#include "compiled_sizes.cuh"
#include "gathered_operands.cuh"

namespace {

struct Tensors {
    const float* x;
    Weights weights;
};

struct PlacesOutput : TileGiven {
    typedef TileGiven Given;
    static constexpr int kMixed = 1;
    static constexpr bool kTwo = false;
    long long first;
    __device__ __forceinline__ PlacesOutput(const Tile& tile, const Given& given)
        : TileGiven(given), first(tile.group * (Sizes::c_out * Sizes::h_out * Sizes::w_out)) {}
    __device__ __forceinline__ long long column(int c, int) const { return c < H_OUT * W_OUT ? first + c : -1; }
    // place locates an output for epilogues; rows after the last one get the last row's place.
    __device__ __forceinline__ Coordinates<4> place(int row, long long output, long long) const {
        const int at = output - first, channel = row < C_OUT ? row : C_OUT - 1;
        const long long image = first / (Sizes::c_out * Sizes::h_out * Sizes::w_out);
        return {{image, channel, at / W_OUT, at % W_OUT}, {N, C_OUT, H_OUT, W_OUT}};
    }
    template <class To, class... B>
    __device__ __forceinline__ void store(const To& y, int row, long long place, float sum, const B&... beside) const {
        if (row < C_OUT)
            y[place + row * (Sizes::h_out * Sizes::w_out)] = output(bias ? sum + __ldg(bias + row) : sum, beside...);
    }

   private:
    template <class... B>
    __device__ __forceinline__ float output(float sum, const B&... beside) const {
        float one[1] = {sum};
        if constexpr (sizeof...(B) > 0) apply(one, beside...);
        return one[0];
    }
};

struct Work {
    typedef Tensors Operands;
    typedef PlacesOutput Output;
    static constexpr int kParts = 1, kStages = (C + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth);
    static constexpr bool kMasked = false;
    __device__ __forceinline__ static int groups() { return N; }
    __device__ __forceinline__ static long long outputs() { return Sizes::n * Sizes::c_out * Sizes::h_out * Sizes::w_out; }
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }

    struct Rows : MatrixLines<true, C> {
        __device__ __forceinline__ Rows(const Tensors& of, const Tile&) : MatrixLines<true, C>{of.weights.pointwise, C_OUT} {}
    };
    struct Columns {
        static constexpr bool kContiguous = false;
        struct Line {
            int top, left;
        };
        const float *image, *weights, *bias;
        __device__ __forceinline__ Columns(const Tensors& of, const Tile& tile)
            : image(of.x + tile.group * (Sizes::c * Sizes::h * Sizes::w)), weights(of.weights.depthwise), bias(of.weights.depthwise_bias) {}
        __device__ __forceinline__ Line line(int index) const {
            const int place = index < H_OUT * W_OUT ? index : 0;
            return {place / W_OUT * STRIDE_H - PADDING_H, place % W_OUT * STRIDE_W - PADDING_W};
        }
        __device__ __forceinline__ void load(const Line& line, int k, float (&v)[8]) const {
#pragma unroll
            for (int i = 0; i < 8; ++i) v[i] = bias && k + i < C ? __ldg(bias + k + i) : 0.0f;
            constexpr int taps = KERNEL_H * KERNEL_W, unrolled = taps <= 9 ? taps : 1;
#pragma unroll unrolled
            for (int tap = 0; tap < taps; ++tap) {
                const int row = line.top + tap / KERNEL_W * DILATION_H, column = line.left + tap % KERNEL_W * DILATION_W;
                const bool there = static_cast<unsigned>(row) < H && static_cast<unsigned>(column) < W;
                const float* const from = image + static_cast<long long>(k) * (H * W) + row * W + column;
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    if (C % (DEPTH * kStepDepth) == 0 || k + i < C) v[i] = there ? fmaf(__ldg(from + static_cast<long long>(i) * (H * W)), __ldg(weights + (k + i) * taps + tap), v[i]) : v[i];
            }
        }
    };
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv_separable2d_gathered(const float* __restrict__ x, const float* __restrict__ depthwise, const float* __restrict__ depthwise_bias,
                              const float* __restrict__ pointwise, const float* __restrict__ pointwise_bias, float* __restrict__ y
                              EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    const Weights weights = weights_of(depthwise, depthwise_bias, pointwise, pointwise_bias);
    slab_gemm<Work, Gatherers>(reinterpret_cast<char*>(memory), Tensors{x, weights},
                               {{EPILOGUE_ARGUMENTS}, weights.pointwise_bias}, y);
}
