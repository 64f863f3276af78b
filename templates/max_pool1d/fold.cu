// max_pool1d, fold: computes maxima of windows of increasing width in shared memory, in logarithmically many steps.
//
// The maximum of a window of 2n elements is the larger of the maxima of its two halves. The maximum of a window of
// any width is that of two overlapping windows that together cover it.
//
// NEEDED is the number of a block's inputs, and LINE the number of floats of a buffer for them in shared memory.
//
// Tunables:
//   threads:   threads per block
//   outputs:   outputs per block
//   radix:     factor by which windows become wider per step
//   streaming: whether stores are streaming, so that the inputs stay in the L2
#include "async_copy.cuh"
#include "pool.cuh"

// load copies the row's inputs from `begin` on to shared memory; `begin` is `phase` floats after a 16-byte boundary.
__device__ __forceinline__ void load(float* line, const float* row, int begin, int phase) {
    for (int k = threadIdx.x * 4; k < phase + NEEDED; k += THREADS * 4) {
        const int at = begin - phase + k;
        if (at >= 0 && at + 4 <= W) {
            async_copy<16>(line + k, row + at);
            continue;
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (at + e >= 0 && at + e < W)
                async_copy<4>(line + k + e, row + at + e);
            else
                line[k + e] = Maximum::nothing();
        }
    }
    async_copy_wait_all();
    __syncthreads();
}

// widen computes the maxima of windows of Factor * width elements from those of `width` elements.
template <int Factor>
__device__ __forceinline__ void widen(float*& from, float*& to, int& width) {
    const int count = NEEDED - (Factor * width - 1) * DILATION;
#pragma unroll 4
    for (int k = threadIdx.x; k < count; k += THREADS) {
        float maximum = from[k];
#pragma unroll
        for (int f = 1; f < Factor; ++f) maximum = max_or_nan(maximum, from[k + f * width * DILATION]);
        to[k] = maximum;
    }
    __syncthreads();
    float* other = from;
    from = to, to = other, width *= Factor;
}

extern "C" __global__ void __launch_bounds__(THREADS)
max_pool1d_fold(const float* __restrict__ x, float* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) float lines[]; // two lines
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    constexpr unsigned Across = (W_OUT + OUTPUTS - 1) / OUTPUTS;
    const long long row = blockIdx.x / Across;
    const int first = blockIdx.x % Across * OUTPUTS, begin = first * STRIDE - PADDING;
    const int phase = (int)((row * W + begin) & 3);
    load(lines, x + row * W, begin, phase);

    float *from = lines + phase, *to = lines + LINE + phase;
    int width = 1;
#pragma unroll
    for (int w = 1; w <= KERNEL / RADIX; w *= RADIX) widen<RADIX>(from, to, width);
    while (width <= KERNEL / 2) widen<2>(from, to, width);

#pragma unroll 4
    for (int o = threadIdx.x; o < min((int)OUTPUTS, W_OUT - first); o += THREADS) {
        float maximum[1] = {max_or_nan(from[o * STRIDE], from[o * STRIDE + (KERNEL - width) * DILATION])};
        finish_row<Pool>(maximum, epilogue, row, 0, 0, first + o);
        put<1, STREAMING>(y + row * W_OUT + first + o, maximum);
    }
}
