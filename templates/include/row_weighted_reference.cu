// The reference kernel of row operators with weights, such as layer_norm.
#include "row_plain.cuh"

extern "C" __global__ void row_weighted_reference(const Element* __restrict__ x, const Element* __restrict__ weight,
                                                  const Element* __restrict__ bias, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    plain_rows(x, y, {weight, bias, WEIGHTS}, Epilogue{EPILOGUE_ARGUMENTS});
}
