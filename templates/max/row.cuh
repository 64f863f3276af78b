// row.cuh: the class Row (row_state.cuh) for max: the largest element of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Larger> {};
