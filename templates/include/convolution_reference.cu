// Convolutions of up to three axes, transposed ones too, reference: one thread an output, added up in
// double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "plain_convolution.cuh"

extern "C" __global__ void convolution_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                                 const Element* __restrict__ bias, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)N * C_OUT * D_OUT * H_OUT * W_OUT)
        y[i] = PlainConvolution<double>{x, weight, bias}(i);
}
