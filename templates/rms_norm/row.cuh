// row.cuh: the class Row (row_state.cuh) for rms_norm: a row's elements divided by the root of their mean square.
#include "norm_row.cuh"
#define WEIGHTS EPS
#define WEIGHTS_OF(s) (s).eps
template <class Real> struct Row : Norm<Real, false> {};
