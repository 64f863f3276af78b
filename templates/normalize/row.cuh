// row.cuh: the class Row (row_state.cuh) for normalize: a row's elements divided by the row's p-norm.
#include "magnitude_row.cuh"
#define WEIGHTS {P, MEAN, EPS}
#define WEIGHTS_OF(s) {(s).p, (s).mean, (s).eps}
template <class Real> struct Row : Magnitude<Real, true> {};
