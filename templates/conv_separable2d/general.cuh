// conv_separable2d, general: computes output element i of a problem of any size.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element conv_separable2d_general(const Element* x, const Element* depthwise, const Element* depthwise_bias, const Element* pointwise,
                                          const Element* pointwise_bias, const Sizes& s, long long i EPILOGUE_PARAMETERS) {
    return separable_plain<float>(x, {depthwise, depthwise_bias, pointwise, pointwise_bias}, s, i, {EPILOGUE_ARGUMENTS});
}
