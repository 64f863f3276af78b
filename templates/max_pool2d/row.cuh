// row.cuh: the Row of a pool whose window is a whole image.
#include "pooled_row.cuh"
