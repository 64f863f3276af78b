// conv2d, direct: each thread accumulates CHANNELS output channels of VEC adjacent output pixels in registers, on
// CUDA cores.
//
// Blocks that differ only in their channels run one after the other, so that they find the input in the L2. Windows
// that reach over the image's edge take a path with bounds checks.
//
// Tunables:
//   block_x, block_y: threads per block
//   channels:         output channels per thread
//   vec:              adjacent output pixels per thread
//   unroll:           rows of a window in flight at once
//   stage:            whether the weights are first copied to shared memory
#include "convolution_place.cuh"
#include "factor.cuh"
#include "vector_access.cuh"

// Weights locates a block's CHANNELS x FAN_IN weights, in global or in shared memory.
struct Weights {
    const float* first; // the block's first channel, in global or shared memory
    int last;           // the block's last channel that exists

    __device__ __forceinline__ float tap(int channel, int i) const {
#if STAGE
        return first[(long long)channel * FAN_IN + i];
#else
        return factor(__ldg(first + (long long)(channel < last ? channel : last) * FAN_IN + i));
#endif
    }
};

__device__ __forceinline__ void stage(float* shared, Weights weights) {
    for (int i = threadIdx.y * BLOCK_X + threadIdx.x; i < CHANNELS * FAN_IN; i += BLOCK_X * BLOCK_Y) {
        const int channel = i / FAN_IN < weights.last ? i / FAN_IN : weights.last;
        shared[i] = factor(weights.first[(long long)channel * FAN_IN + i % FAN_IN]);
    }
    __syncthreads();
}

// windows adds the products of VEC adjacent windows to the accumulators; the first window starts at row iy and column
// ix. Inside says that all windows lie wholly within the input.
template <bool Inside>
__device__ __forceinline__ void windows(float (&sums)[CHANNELS][VEC], const float* planes, Weights weights, long long iy, long long ix) {
    constexpr int Unroll = UNROLL; // nvcc does not expand macros in pragmas
#pragma unroll 1
    for (int c = 0; c < C_GROUP; ++c)
#pragma unroll Unroll
        for (int ky = 0; ky < KERNEL_H; ++ky) {
            const long long row = iy + (long long)ky * DILATION_H;
            if (!Inside && (row < 0 || row >= H)) continue;
            const long long first = ((long long)c * H + row) * W + ix;
#pragma unroll 4
            for (int kx = 0; kx < KERNEL_W; ++kx) {
                float pixels[VEC];
#pragma unroll
                for (int v = 0; v < VEC; ++v) {
                    const long long step = (long long)v * STRIDE_W + (long long)kx * DILATION_W;
                    const bool inside = Inside || (ix + step >= 0 && ix + step < W);
                    pixels[v] = inside ? factor(__ldg(planes + first + step)) : 0.0f;
                }
#pragma unroll
                for (int k = 0; k < CHANNELS; ++k) {
                    const float tap = weights.tap(k, (c * KERNEL_H + ky) * KERNEL_W + kx);
#pragma unroll
                    for (int v = 0; v < VEC; ++v) sums[k][v] += pixels[v] * tap;
                }
            }
        }
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
conv2d_direct(const float* __restrict__ x, const float* __restrict__ weight,
              const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    unsigned block = blockIdx.x;
    const int tile_c = block % TILES_C;
    block /= TILES_C;
    const unsigned tile_x = block % TILES_X, tile_y = block / TILES_X % TILES_Y;
    block = block / TILES_X / TILES_Y;
    const int group = block % GROUPS;
    const long long image = block / GROUPS;

    const int in_group = tile_c * CHANNELS; // the block's first channel, within its group
    const int c_out = group * C_OUT_GROUP + in_group;
    const int last = in_group + CHANNELS < C_OUT_GROUP ? CHANNELS - 1 : C_OUT_GROUP - 1 - in_group;
    Weights weights = {weight + (long long)c_out * FAN_IN, last};
#if STAGE
    extern __shared__ float staged[]; // CHANNELS x FAN_IN
    stage(staged, weights);
    weights.first = staged;
#endif

    const long long ox = ((long long)tile_x * BLOCK_X + threadIdx.x) * VEC;
    const long long oy = (long long)tile_y * BLOCK_Y + threadIdx.y;
    if (ox >= W_OUT || oy >= H_OUT) return;
    const long long ix = ox * STRIDE_W - PADDING_W, iy = oy * STRIDE_H - PADDING_H;
    const bool inside = iy >= 0 && iy + SPAN_H <= H && ix >= 0 && ix + (VEC - 1) * (long long)STRIDE_W + SPAN_W <= W;

    const float* planes = x + (image * C + group * C_GROUP) * H * W;
    float sums[CHANNELS][VEC] = {};
    if (inside)
        windows<true>(sums, planes, weights, iy, ix);
    else
        windows<false>(sums, planes, weights, iy, ix);

#pragma unroll
    for (int k = 0; k < CHANNELS; ++k) {
        if (k > last) break;
        const float offset = BIAS ? bias[c_out + k] : 0.0f;
#pragma unroll
        for (int v = 0; v < VEC; ++v) sums[k][v] += offset;
        const long long plane = image * C_OUT + c_out + k;
        if constexpr (!Epilogue::kIsNone)
            epilogue.apply(sums[k], RowPlace(image, c_out + k, plane, oy, H_OUT, ox, W_OUT));

        float* to = y + (plane * H_OUT + oy) * W_OUT + ox;
#if W_OUT % VEC == 0
        store_vector<VEC>(to, sums[k]);
#else
#pragma unroll
        for (int v = 0; v < VEC; ++v)
            if (ox + v < W_OUT) to[v] = sums[k][v];
#endif
    }
}
