// elementwise, reference: one thread computes one output, or one block computes the sum of all outputs. Arithmetic is
// in float, in order to round as PyTorch does.
#include "block_sum.cuh"
#include "plain.cuh"

struct Sizes {
    static constexpr long long length = LENGTH, inner = INNER;
    static constexpr bool f_w = F_W, f_b = F_B;
};

extern "C" __global__ void elementwise_reference(const Element* __restrict__ x, const Element* __restrict__ w,
                                                 const Element* __restrict__ b, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, elements = (long long)OUTER * LENGTH * INNER;
    if (!REDUCED) {
        if (i < elements) y[i] = from_float<Element>(chain_at(x, w, b, Sizes(), i));
        return;
    }
    double sum = 0;  // computed by the only block
#pragma unroll 16
    for (long long k = threadIdx.x; k < elements; k += 256) sum += chain_at(x, w, b, Sizes(), k);
    sum = block_sum<256>(sum);
    if (i == 0) y[0] = from_float<Element>((float)(sum / OVER));
}
