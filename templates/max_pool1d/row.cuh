// row.cuh: the Row of a pool whose window is a whole row.
#include "pooled_row.cuh"
