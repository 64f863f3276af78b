// row.cuh: the class Row (row_state.cuh) for log_softmax: logarithms of the softmax of a row.
#include "weightless_row.cuh"
#include "softmax_row.cuh"
template <class Real> struct Row : Softmax<Real, true> {};
