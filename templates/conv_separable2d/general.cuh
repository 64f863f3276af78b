// conv_separable2d, general: output element i of any problem, in the math mode of the tuned kernel.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ float conv_separable2d_general(const float* x, const float* depthwise, const float* depthwise_bias, const float* pointwise,
                                          const float* pointwise_bias, const Sizes& s, long long i) {
    return separable_plain<float>(x, {depthwise, depthwise_bias, pointwise, pointwise_bias}, s, i);
}
