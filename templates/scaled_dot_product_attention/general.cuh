// scaled_dot_product_attention, general: computes output element i of a problem of any size.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element scaled_dot_product_attention_general(const Element* q, const Element* k, const Element* v, const Element* mask, const Sizes& s, long long i) {
    return average_of<float>(q, k, v, mask, s, i);
}
