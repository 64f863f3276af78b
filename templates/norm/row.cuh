// row.cuh: the class Row (row_state.cuh) for norm: the p-norm of a row.
#include "magnitude_row.cuh"
#define WEIGHTS {P, 0, 0.0}
#define WEIGHTS_OF(s) {(s).p, 0, 0.0}
template <class Real> struct Row : Magnitude<Real, false> {};
