// convolution_general.cuh: computes one output element of any convolution (1D to 3D, transposed or not). The macro
// SIZES declares the problem's sizes, which are known only at run time.
#include "convolution.cuh"

struct Sizes {
    SIZES;
};

__device__ Element convolution_general(const Element* x, const Element* weight, const Element* bias, const Sizes& s, long long i
                                       EPILOGUE_PARAMETERS) {
    const Epilogue epilogue = {EPILOGUE_ARGUMENTS};
    return s.transposed ? convolution_plain<float, true>(x, weight, bias, s, i, epilogue)
                        : convolution_plain<float, false>(x, weight, bias, s, i, epilogue);
}
