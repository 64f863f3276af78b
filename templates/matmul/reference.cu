// matmul, reference: one thread an output, added up in double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "plain.cuh"

struct Sizes {
    static constexpr long long m = M, k = K, n = N;
    static constexpr bool transpose_a = TRANSPOSE_A, transpose_b = TRANSPOSE_B, broadcast_a = BROADCAST_A, broadcast_b = BROADCAST_B;
};

extern "C" __global__ void matmul_reference(const Element* __restrict__ a, const Element* __restrict__ b,
                                            const Element* __restrict__ bias, Element* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)BATCH * M * N) y[i] = matmul_plain<double>(a, b, BIAS ? bias : nullptr, Sizes(), i);
}
