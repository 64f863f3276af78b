// matmul, reference: one thread an output, added up in double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "compiled_sizes.cuh"

extern "C" __global__ void matmul_reference(const Element* __restrict__ a, const Element* __restrict__ b,
                                            const Element* __restrict__ bias, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)BATCH * M * N) y[i] = matmul_plain<double>(a, b, BIAS ? bias : nullptr, Sizes(), i);
}
