// triplet_margin_loss, reference: a block has a row after the other.
#include "plain.cuh"

struct Compiled {
    double margin = MARGIN, eps = EPS;
    long long p = P;
    bool swap = SWAP;
};

extern "C" __global__ void triplet_margin_loss_reference(const Element* __restrict__ anchor, const Element* __restrict__ positive,
                                                         const Element* __restrict__ negative, Element* __restrict__ y) {
    __shared__ double storage[256 * 3];
    const Compiled s;
    double sum = 0;
    for (long long row = blockIdx.x; row < OUTER; row += gridDim.x) {
        Triplet own;
        for (long long j = threadIdx.x; j < LENGTH; j += 256) own.join(anchor, positive, negative, s, row * LENGTH + j);
        for (int side = 0; side < 3; ++side) storage[threadIdx.x * 3 + side] = own.sides[side].all;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int other = 1; other < 256; ++other)
                for (int side = 0; side < 3; ++side) own.sides[side].merge(storage[other * 3 + side], P);
            const double loss = own.loss(s);
            if (!REDUCED) y[row] = from_float<Element>((float)loss);
            sum += loss;
        }
        __syncthreads();
    }
    if (REDUCED && threadIdx.x == 0) y[0] = from_float<Element>((float)(MEAN ? sum / OUTER : sum));
}
