// conv_separable2d, reference: sums are in double. In math mode tf32, the pointwise convolution's operands are
// rounded to TF32.
#include "compiled_sizes.cuh"

extern "C" __global__ void conv_separable2d_reference(const Element* __restrict__ x, const Element* __restrict__ depthwise, const Element* __restrict__ depthwise_bias,
                                                      const Element* __restrict__ pointwise, const Element* __restrict__ pointwise_bias, Element* __restrict__ y
                                                      EPILOGUE_PARAMETERS) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < Sizes::n * Sizes::c_out * Sizes::h_out * Sizes::w_out)
        y[i] = separable_plain<double>(x, weights_of(depthwise, depthwise_bias, pointwise, pointwise_bias), Sizes(), i, {EPILOGUE_ARGUMENTS});
}
