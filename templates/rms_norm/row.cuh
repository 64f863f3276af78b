// row.cuh: what rms_norm makes of a row.
#include "norm_row.cuh"
#define WEIGHTS EPS
#define WEIGHTS_OF(s) (s).eps
template <class Real> struct Row : Norm<Real, false> {};
