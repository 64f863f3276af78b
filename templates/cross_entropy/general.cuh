// cross_entropy, general: computes one output of a problem of any size.
#include "row_plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element cross_entropy_general(const Element* x, const long long* target, const Element* weight, const Sizes& s, long long i) {
    const Weights weights = WEIGHTS_OF(s);
    if (!s.reduced) return from_float<Element>((float)plain_given(x, s, i, weights));
    double sum = 0, count = 0;
    for (long long row = 0; row < s.outer * s.inner; ++row) sum += plain_given(x, s, row, weights), count += counted(weights, row);
    return from_float<Element>((float)(s.mean ? sum / count : sum));
}
