// The reference kernel of average pools of up to three axes: one thread per output. The kernel calls the simple
// function of average_pool_general.cuh, which shares no code with the other kernels.
#include "average_pool_general.cuh"

extern "C" __global__ void average_pool_reference(const Element* __restrict__ x,
                                                  Element* __restrict__ y EPILOGUE_PARAMETERS) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C * D_OUT * H_OUT * W_OUT) return;
    y[i] = average_pool_plain(x, Sizes(), i, {EPILOGUE_ARGUMENTS});
}
