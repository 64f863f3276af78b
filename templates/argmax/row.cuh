// row.cuh: the class Row (row_state.cuh) for argmax: the position of the row's largest element.
#include "reductions.cuh"
template <class Real> struct Row : Position<Real, 1> {};
