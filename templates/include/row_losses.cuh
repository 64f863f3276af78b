// row_losses.cuh: stores the loss of each row, or the sum or mean of all losses. One block adds up the losses in a
// fixed order. counted(weights, row) returns the weight of a row's loss in the mean.
#pragma once
#include "block_sum.cuh"
#include "dependent_launch.cuh"

__device__ __forceinline__ void answer_losses(const float* losses, Element* y, const Weights& weights) {
    wait_for_launches();
    const long long rows = OUTER * static_cast<long long>(INNER), first = blockIdx.x * 1024LL + threadIdx.x;
    if (!REDUCED) {
        if (first < rows) y[first] = from_float<Element>(losses[first]);
        return;
    }
    double sum = 0, count = 0;
#pragma unroll 16
    for (long long row = threadIdx.x; row < rows; row += 1024) sum += losses[row], count += MEAN ? counted(weights, row) : 0.0f;
    sum = block_sum<1024>(sum);
    count = block_sum<1024>(count);
    if (threadIdx.x == 0) y[0] = from_float<Element>(static_cast<float>(MEAN ? sum / count : sum));
}
