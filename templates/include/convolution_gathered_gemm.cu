// convolution_gathered_gemm.cu: convolutions of up to three axes as matrix products whose producers load the input
// directly (gathered_operands.cuh, sm_90a). Rows of the product are output channels, columns are the pixels of all
// images, and k is the taps of all channels, in the order of the weights.
//
// The kernel reads each input element once per tap from the caches and computes its address each time. packed_conv.cuh
// avoids repeated reads and address computations by packing the input first, which pays if several taps read an input;
// this kernel pays if only one tap does.
//
// slab_gemm.cuh has the mainloop and explains the tunables. Axes that a problem lacks have size 1.
#include "gathered_operands.cuh"
#include "place.cuh"

namespace {

constexpr int kDepth = C_GROUP * kKernelVolume;
__device__ __forceinline__ int out_pixels() { return D_OUT * H_OUT * W_OUT; }  // of an output channel
__device__ __forceinline__ int pixels() { return N * out_pixels(); }

struct Tensors {
    const float *x, *weight;
};

struct Weights : MatrixLines<true, kDepth> {
    __device__ __forceinline__ Weights(const Tensors& tensors, const Tile& tile)
        : MatrixLines<true, kDepth>{tensors.weight + static_cast<long long>(tile.group) * C_OUT_GROUP * kDepth, C_OUT_GROUP} {}
};

struct Pixels {
    static constexpr bool kContiguous = false;
    // Line locates an output pixel: `channel` is the group's first channel in the pixel's image; d, h and w are the
    // coordinates of the input that the pixel's first tap reads.
    struct Line {
        const float* channel;
        int d, h, w;
    };
    const float* group;
    __device__ __forceinline__ Pixels(const Tensors& tensors, const Tile& tile) : group(tensors.x + tile.group * (C_GROUP * in_volume())) {}

    __device__ __forceinline__ Line line(int index) const {
        const int pixel = index < pixels() ? index : pixels() - 1, inside = pixel % out_pixels();
        return {group + pixel / out_pixels() * (C * in_volume()), inside / (H_OUT * W_OUT) * STRIDE_D - PADDING_D,
                inside / W_OUT % H_OUT * STRIDE_H - PADDING_H, inside % W_OUT * STRIDE_W - PADDING_W};
    }
    template <int Padding>
    __device__ __forceinline__ static bool within(int at, int size) {
        return Padding == 0 || (0 <= at && at < size);
    }
    __device__ __forceinline__ void load(const Line& line, int k, float (&v)[8]) const {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int tap = (k + i) % kKernelVolume, channel = (k + i) / kKernelVolume;
            const int d = line.d + tap / (KERNEL_H * KERNEL_W) * DILATION_D, h = line.h + tap / KERNEL_W % KERNEL_H * DILATION_H,
                      w = line.w + tap % KERNEL_W * DILATION_W;
            const bool inside = (kDepth % (DEPTH * kStepDepth) == 0 || k + i < kDepth) && within<PADDING_D>(d, D) &&
                                within<PADDING_H>(h, H) && within<PADDING_W>(w, W);
            v[i] = inside ? __ldg(line.channel + channel * in_volume() + (static_cast<long long>(d) * H + h) * W + w) : 0.0f;
        }
    }
};

struct Work : ConvolutionWork {
    static constexpr int kStages = (kDepth + DEPTH * kStepDepth - 1) / (DEPTH * kStepDepth);
    __device__ __forceinline__ static int groups() { return GROUPS; }
    typedef Tensors Operands;
    typedef Weights Rows;
    typedef Pixels Columns;

    struct Output : TileEpilogue {
        typedef TileGiven Given;
        static constexpr int kMixed = 1;
        static constexpr bool kTwo = false;
        const float* bias;
        int first_channel;  // first channel of the group
        long long first;    // its first output
        long long apart;    // from each channel to the next
        bool biased;
        __device__ __forceinline__ Output(const Tile& tile, const Given& given)
            : TileEpilogue(given), bias(given.bias + (BIAS ? tile.group * C_OUT_GROUP : 0)),
              first_channel(tile.group * C_OUT_GROUP),
              first(tile.group * C_OUT_GROUP * out_volume()), apart(out_volume()),
              biased(BIAS && tile.split == 0) {}
        __device__ __forceinline__ long long column(int pixel, int) const {
            return pixel < pixels() ? first + pixel / out_pixels() * (C_OUT * out_volume()) + pixel % out_pixels() : -1;
        }
        // A channel that does not exist gets the place of the group's first channel, which lies at `first`.
        __device__ __forceinline__ ConvolutionPlace place(int channel, long long place, long long first) const {
            const bool there = channel < C_OUT_GROUP;
            return output_place(there ? place : first, first_channel + (there ? channel : 0), first);
        }
        template <class... B>
        __device__ __forceinline__ void store(float* y, int channel, long long place, float value,
                                              const B&... beside) const {
            if (channel >= C_OUT_GROUP) return;
            float output[1] = {biased ? value + __ldg(bias + channel) : value};
            if constexpr (sizeof...(B) > 0) apply(output, beside...);
            y[place] = output[0];
        }
    };
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    convolution_gathered_gemm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                              float* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) uint4 memory[];
    slab_gemm<Work, Gatherers>(reinterpret_cast<char*>(memory), Tensors{x, weight},
                               {{TILE_EPILOGUE_ARGUMENTS}, bias}, y);
}

extern "C" __global__ void __launch_bounds__(256)
    convolution_gathered_gemm_sum(const float* partial_sums, float* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, Work::outputs(), 0, ConvolutionSums{{EPILOGUE_ARGUMENTS}});
}
