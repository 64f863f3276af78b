// row.cuh: the class Row (row_state.cuh) for sum: the sum of a row's elements.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Plus> {};
