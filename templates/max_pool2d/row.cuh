// row.cuh: the class Row (row_state.cuh) of a pool whose window is a whole image.
#include "pooled_row.cuh"
