// matmul, general: computes output element i of any problem, in the math mode of the tuned kernel.
#include "plain.cuh"

struct Sizes {
    SIZES;
};

__device__ Element matmul_general(const Element* a, const Element* b, const Element* bias, const Sizes& s, long long i
                                  EPILOGUE_PARAMETERS) {
    return matmul_plain<float>(a, b, bias, s, i, Epilogue{EPILOGUE_ARGUMENTS});
}
