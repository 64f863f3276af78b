// row.cuh: the class Row (row_state.cuh) for argmin: the position of the row's smallest element.
#include "reductions.cuh"
template <class Real> struct Row : Position<Real, -1> {};
