// matmul, general: computes output element i of a problem of any size.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element matmul_general(const Element* a, const Element* b, const Element* bias, const Sizes& s, long long i
                                  EPILOGUE_PARAMETERS) {
    return matmul_plain<float>(a, b, bias, s, i, Epilogue{EPILOGUE_ARGUMENTS});
}
