// The reference of scans: a thread has a row or a column after the other.
#include "element.cuh"
#include "row.cuh"

extern "C" __global__ void scan_reference(const Element* __restrict__ x, Element* __restrict__ y) {
    const long long threads = gridDim.x * (long long)blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < OUTER * (long long)INNER; i += threads) {
        const long long first = i / INNER * LENGTH * INNER + i % INNER;
        double sum = none();
        for (long long k = 0; k < LENGTH; ++k) {
            const long long at = first + (REVERSE ? LENGTH - 1 - k : k) * INNER;
            const double until = both(sum, (double)to_float(x[at]));
            y[at] = from_float<Element>((float)(EXCLUSIVE ? sum : until));
            sum = until;
        }
    }
}
