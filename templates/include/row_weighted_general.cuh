// row_weighted_general.cuh: computes one output of an operator with weights per element, such as layer_norm, for any
// problem sizes.
#include "row_plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Answer row_weighted_general(const Element* x, const Element* weight, const Element* bias, const Sizes& s, long long i
                                       EPILOGUE_PARAMETERS) {
    return plain_answer(x, s, i, {weight, bias, WEIGHTS_OF(s)}, Epilogue{EPILOGUE_ARGUMENTS});
}
