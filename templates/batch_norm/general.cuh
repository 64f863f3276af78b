// batch_norm, general: computes one output of a problem of any size.
#include "row_plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Answer batch_norm_general(const Element* x, const Element* weight, const Element* bias, Element* running_mean,
                                     Element* running_var, const Sizes& s, long long i EPILOGUE_PARAMETERS) {
    return plain_answer(x, s, i, {weight, bias, WEIGHTS_OF(s)}, Epilogue{EPILOGUE_ARGUMENTS});
}
