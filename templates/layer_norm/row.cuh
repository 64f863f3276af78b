// row.cuh: the class Row (row_state.cuh) for layer_norm: elements normalised by the mean and variance of their row.
#include "norm_row.cuh"
#define WEIGHTS EPS
#define WEIGHTS_OF(s) (s).eps
template <class Real> struct Row : Norm<Real, true> {};
