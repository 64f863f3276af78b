// masked_cumsum, general: computes one element of the output, for any problem sizes.
#include "scan_plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element masked_cumsum_general(const Element* x, const bool* mask, const Sizes& s, long long i) {
    return plain_scanned(Masked{x, mask}, s, i);
}
