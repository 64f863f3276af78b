// row.cuh: what layer_norm makes of a row.
#include "norm_row.cuh"
template <class Real> struct Row : Norm<Real, true> {};
