// avg_pool1d, direct: each thread computes VEC adjacent outputs of the flat output array, one window after the other.
//
// Adjacent outputs may lie in two rows.
//
// Tunables:
//   block_x: threads per block
//   steps:   groups of block_x * vec outputs that a block computes
//   vec:     adjacent outputs per thread
//   unroll:  elements of a window in flight at once
#include "convolution_place.cuh"

#define OUTPUTS ((long long)N * C * W_OUT)

// windows_inside averages VEC windows that lie wholly within a row; the first window begins at `from`.
__device__ __forceinline__ void windows_inside(float (&means)[VEC], const Element* from) {
    constexpr int Unroll = UNROLL; // nvcc does not expand macros in pragmas
    float sums[VEC] = {};
#pragma unroll Unroll
    for (int k = 0; k < KERNEL; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) sums[v] += to_float(from[v * STRIDE + k]);
#pragma unroll
    for (int v = 0; v < VEC; ++v) means[v] = sums[v] * (1.0f / KERNEL);
}

// window_at_edge averages one window that may reach over an end of its row.
__device__ __forceinline__ float window_at_edge(const Element* row, long long column) {
    const long long begin = column * STRIDE - PADDING;
    const long long padded = begin + KERNEL < (long long)W + PADDING ? begin + KERNEL : (long long)W + PADDING;
    const long long first = begin > 0 ? begin : 0, end = padded < W ? padded : W;
    float sum = 0.0f;
#pragma unroll 1
    for (long long k = first; k < end; ++k) sum += to_float(row[k]);
    return first < end ? sum / (float)(COUNT_INCLUDE_PAD ? padded - begin : end - first) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK_X)
avg_pool1d_direct(const Element* __restrict__ x, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    long long i = ((long long)blockIdx.x * STEPS * BLOCK_X + threadIdx.x) * VEC;
    for (int step = 0; step < STEPS; ++step, i += BLOCK_X * VEC) {
        if (i >= OUTPUTS) return;
        const long long row = i / W_OUT, column = i % W_OUT;
        const long long begin = column * STRIDE - PADDING;

        float means[VEC];
        if (column + VEC <= W_OUT && begin >= 0 && begin + (VEC - 1) * (long long)STRIDE + KERNEL <= W) {
            windows_inside(means, x + row * W + begin);
        } else {
#pragma unroll
            for (int v = 0; v < VEC; ++v)
                means[v] = i + v < OUTPUTS ? window_at_edge(x + (i + v) / W_OUT * W, (i + v) % W_OUT) : 0.0f;
        }

        if constexpr (!Epilogue::kIsNone) {
            if (column + VEC <= W_OUT)
                epilogue.apply(means, RunPlace(row, C, 0, 1, column, W_OUT));
            else
#pragma unroll
                for (int v = 0; v < VEC; ++v) {
                    const long long its = i + v < OUTPUTS ? i + v : OUTPUTS - 1;
                    means[v] = epilogue.of(means[v], RowPlace(its / W_OUT, C, 0, 1, its % W_OUT, W_OUT));
                }
        }
        if (i + VEC <= OUTPUTS)
            store_elements<VEC>(y + i, means);
        else
            for (int v = 0; i + v < OUTPUTS; ++v) y[i + v] = from_float<Element>(means[v]);
    }
}
