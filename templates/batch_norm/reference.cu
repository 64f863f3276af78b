// batch_norm, reference: the kernel whose results are right by definition.
#include "row_plain.cuh"

extern "C" __global__ void batch_norm_reference(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                                                Answer* __restrict__ y, Element* __restrict__ running_mean, Element* __restrict__ running_var EPILOGUE_PARAMETERS) {
    plain_rows(x, y, {weight, bias, WEIGHTS}, Epilogue{EPILOGUE_ARGUMENTS});
}
