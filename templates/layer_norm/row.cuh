// row.cuh: what layer_norm makes of a row.
#include "norm_row.cuh"
#define WEIGHTS EPS
#define WEIGHTS_OF(s) (s).eps
template <class Real> struct Row : Norm<Real, true> {};
