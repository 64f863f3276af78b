// row.cuh: the class Row (row_state.cuh) for softmax: exponentials of a row's elements divided by their sum.
#include "weightless_row.cuh"
#include "softmax_row.cuh"
template <class Real> struct Row : Softmax<Real, false> {};
