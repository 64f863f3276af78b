// row_general.cuh: computes one output of an operator on rows, for any problem sizes.
#include "row_plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Answer row_general(const Element* x, const Sizes& s, long long i EPILOGUE_PARAMETERS) {
    return plain_answer(x, s, i, WEIGHTS_OF(s), Epilogue{EPILOGUE_ARGUMENTS});
}
