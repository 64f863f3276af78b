// row.cuh: what log_softmax makes of a row.
#include "weightless_row.cuh"
#include "softmax_row.cuh"
template <class Real> struct Row : Softmax<Real, true> {};
