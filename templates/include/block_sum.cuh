// block_sum.cuh: sums one number per thread of a block in a fixed order; every thread receives the sum.
#pragma once

template <int Threads, class Real>
__device__ __forceinline__ Real block_sum(Real own) {
    __shared__ Real sums[Threads];
    sums[threadIdx.x] = own;
#pragma unroll
    for (int apart = Threads / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (threadIdx.x < apart) sums[threadIdx.x] += sums[threadIdx.x + apart];
    }
    __syncthreads();
    const Real all = sums[0];
    __syncthreads();  // the next call overwrites sums
    return all;
}
