// row.cuh: the class Row (row_state.cuh) for mean: the mean of a row's elements.
#include "reductions.cuh"
template <class Real> struct Row : Mean<Real> {};
