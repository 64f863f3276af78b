// cross_entropy, reference: the kernel whose results are right by definition.
#include "row_plain.cuh"

extern "C" __global__ void cross_entropy_reference(const Element* __restrict__ x, const long long* __restrict__ target, const Element* __restrict__ weight,
                                                   Element* __restrict__ y) {
    const Weights weights = WEIGHTS;
    double sum = 0, count = 0;
    plain_rows(x, weights, [&](long long row, double loss) {
        if (!REDUCED) y[row] = from_float<Element>((float)loss);
        sum += loss, count += counted(weights, row);
    });
    if (REDUCED && threadIdx.x == 0) y[0] = from_float<Element>((float)(MEAN ? sum / count : sum));
}
