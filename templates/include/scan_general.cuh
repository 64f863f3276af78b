// scan_general.cuh: one element of a scan of any problem, joined in order.
#include "element.cuh"
#include "row.cuh"

struct Sizes {
    SIZES;
};

__device__ Element scan_general(const Element* x, const Sizes& s, long long i) {
    const long long j = i / s.inner % s.length;
    x += i - j * s.inner;
    double sum = none();
    for (long long k = 0; k < s.length; ++k)
        if (s.reverse ? k > j : k < j) sum = both(sum, (double)to_float(x[k * s.inner]));
    return from_float<Element>(s.exclusive ? (float)sum : (float)both(sum, (double)to_float(x[j * s.inner])));
}
