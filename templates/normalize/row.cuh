// row.cuh: what normalize makes of a row.
#include "magnitude_row.cuh"
#define WEIGHTS {P, MEAN, EPS}
#define WEIGHTS_OF(s) {(s).p, (s).mean, (s).eps}
template <class Real> struct Row : Magnitude<Real, true> {};
