// The reference kernel of running sums and products (scans).
#include "scan_plain.cuh"

extern "C" __global__ void scan_reference(const Element* __restrict__ x, Element* __restrict__ y) { plain_scan(Elements{x}, y); }
