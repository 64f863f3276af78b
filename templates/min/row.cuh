// row.cuh: the class Row (row_state.cuh) for min: the smallest element of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Smaller> {};
