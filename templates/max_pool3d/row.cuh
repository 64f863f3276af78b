// row.cuh: the Row of a pool whose window is a whole volume.
#include "pooled_row.cuh"
