// elementwise, general: output element i of any problem.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element elementwise_general(const Element* x, const Element* w, const Element* b, const Sizes& s, long long i) {
    return elementwise_plain(x, w, b, s, i);
}
