// scan_plain.cuh: scans in double, one element after the other, for reference kernels.
#pragma once
#include "scan_join.cuh"
#include "scan_source.cuh"

#ifdef LENGTH
// plain_scan scans rows or columns, one thread for each.
template <class Source>
__device__ __forceinline__ void plain_scan(const Source& x, Element* y) {
    const long long threads = gridDim.x * (long long)blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < OUTER * (long long)INNER; i += threads) {
        const long long first = i / INNER * LENGTH * INNER + i % INNER;
        double sum = none();
        for (long long k = 0; k < LENGTH; ++k) {
            const long long at = first + (REVERSE ? LENGTH - 1 - k : k) * INNER;
            const double until = both(sum, (double)x.one(at));
            y[at] = from_float<Element>((float)(EXCLUSIVE ? sum : until));
            sum = until;
        }
    }
}
#endif

template <class Source, class Sizes>
__device__ Element plain_scanned(const Source& x, const Sizes& s, long long i) {
    const long long j = i / s.inner % s.length, first = i - j * s.inner;
    double sum = none();
    for (long long k = 0; k < s.length; ++k)
        if (s.reverse ? k > j : k < j) sum = both(sum, (double)x.one(first + k * s.inner));
    return from_float<Element>(s.exclusive ? (float)sum : (float)both(sum, (double)x.one(i)));
}
