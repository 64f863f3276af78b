// row.cuh: what rms_norm makes of a row.
#include "norm_row.cuh"
template <class Real> struct Row : Norm<Real, false> {};
