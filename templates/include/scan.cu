// scan: computes running sums or products of a tensor (scan.cuh).
#include "scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) scan(const Element* __restrict__ x, Element* __restrict__ y) { scan_all(Elements{x}, y); }
