// scaled_dot_product_attention, direct: the reference's algorithm in float instead of double. The kernel works for
// every problem. Tunables:
//   threads: threads per block, and keys that a block processes at a time
#include "compiled_sizes.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    scaled_dot_product_attention_direct(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                                        const Element* __restrict__ mask, Element* __restrict__ y) {
    averages_of<THREADS, float>(q, k, v, mask, Sizes(), y);
}
