// convolution_general.cuh: computes output element i of a convolution of up to three axes, transposed or not, in the
// math mode of the tuned kernel. SIZES declares the sizes of a problem that op.yaml lists, which are known at run time.
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
