// row.cuh: the class Row (row_state.cuh) for prod: the product of a row's elements.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Times> {};
