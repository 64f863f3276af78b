// row.cuh: what pools make of a row.
#include "pooled_row.cuh"
