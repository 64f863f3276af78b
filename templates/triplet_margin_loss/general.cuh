// triplet_margin_loss, general: one answer of any problem.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ double triplet_loss(const Element* anchor, const Element* positive, const Element* negative, const Sizes& s, long long row) {
    Triplet sides;
    for (long long j = 0; j < s.length; ++j) sides.join(anchor, positive, negative, s, row * s.length + j);
    return sides.loss(s);
}

__device__ Element triplet_margin_loss_general(const Element* anchor, const Element* positive, const Element* negative, const Sizes& s, long long i) {
    if (!s.reduced) return from_float<Element>((float)triplet_loss(anchor, positive, negative, s, i));
    double sum = 0;
    for (long long row = 0; row < s.outer; ++row) sum += triplet_loss(anchor, positive, negative, s, row);
    return from_float<Element>((float)(s.mean ? sum / s.outer : sum));
}
