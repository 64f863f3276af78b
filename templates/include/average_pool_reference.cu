// The reference kernel of average pools (1D to 3D) computes one output per thread by average_pool_general.cuh.
#include "average_pool_general.cuh"

extern "C" __global__ void average_pool_reference(const Element* __restrict__ x,
                                                  Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * D_OUT * H_OUT * W_OUT) return;
    y[i] = average_pool_plain(x, Sizes(), i, {EPILOGUE_ARGUMENTS});
}
