// The reference kernel of operators that work on independent rows.
#include "row_plain.cuh"

extern "C" __global__ void row_reference(const Element* __restrict__ x, Answer* __restrict__ y EPILOGUE_PARAMETERS) {
    plain_rows(x, y, WEIGHTS, Epilogue{EPILOGUE_ARGUMENTS});
}
