// row.cuh: the class Row (row_state.cuh) of a pool whose window is a whole volume.
#include "pooled_row.cuh"
