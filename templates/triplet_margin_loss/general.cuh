// triplet_margin_loss, general: computes one output of a problem of any size.
#include "row_state.cuh"

struct Sizes {
    SIZES;
};

__device__ double loss_of(const Element* anchor, const Element* positive, const Element* negative, const Sizes& s, long long i) {
    const Weights weights = WEIGHTS_OF(s);
    Row<double> row;
    row.start();
    for (long long at = i * s.length; at < (i + 1) * s.length; ++at)
        row.join({to_float(anchor[at])}, {to_float(positive[at])}, {to_float(negative[at])}, weights);
    row.finish({s.length, i, true}, weights);
    return row.loss;
}

__device__ Element triplet_margin_loss_general(const Element* anchor, const Element* positive, const Element* negative, const Sizes& s, long long i) {
    if (!s.reduced) return from_float<Element>((float)loss_of(anchor, positive, negative, s, i));
    double sum = 0;
    for (long long row = 0; row < s.outer; ++row) sum += loss_of(anchor, positive, negative, s, row);
    return from_float<Element>((float)(s.mean ? sum / s.outer : sum));
}
