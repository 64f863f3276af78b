// scan: running sums of the elements that a mask selects (scan.cuh).
#include "scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    scan(const Element* __restrict__ x, const bool* __restrict__ mask, Element* __restrict__ y) {
    scan_all(Masked{x, mask}, y);
}
