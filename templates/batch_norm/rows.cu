// batch_norm, rows: the kernel of rows.cu, with the running mean and variance as further arguments.
#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    batch_norm_rows(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                    Answer* __restrict__ y, Element* __restrict__ running_mean, Element* __restrict__ running_var EPILOGUE_PARAMETERS) {
    answer_rows(x, y, {weight, bias, WEIGHTS}, Epilogue{EPILOGUE_ARGUMENTS});
}
