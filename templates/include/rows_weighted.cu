// rows_weighted: the kernel of rows.cu for operators whose elements have weights, as in layer_norm.
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    rows_weighted(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    answer_rows(x, y, {weight, bias, WEIGHTS}, Epilogue{EPILOGUE_ARGUMENTS});
}
