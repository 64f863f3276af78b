// conv_separable2d, direct: each thread computes one output, including the depthwise sums of all input channels. The
// kernel works for every problem. Tunables:
//   threads: threads per block
#include "compiled_sizes.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_separable2d_direct(const Element* __restrict__ x, const Element* __restrict__ depthwise, const Element* __restrict__ depthwise_bias,
                            const Element* __restrict__ pointwise, const Element* __restrict__ pointwise_bias, Element* __restrict__ y
                            EPILOGUE_PARAMETERS) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < Sizes::n * Sizes::c_out * Sizes::h_out * Sizes::w_out)
        y[i] = separable_plain<float>(x, weights_of(depthwise, depthwise_bias, pointwise, pointwise_bias), Sizes(), i, {EPILOGUE_ARGUMENTS});
}
