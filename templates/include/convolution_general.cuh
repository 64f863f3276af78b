// convolution_general.cuh: output element i of a convolution of up to three axes, or of a transposed one, in
// the math mode of the tuned kernel. SIZES declares what op.yaml has of a problem, known at run time.
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
