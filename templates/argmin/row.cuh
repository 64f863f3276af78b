// row.cuh: the Row of argmin: the position of the row's smallest element.
#include "reductions.cuh"
template <class Real> struct Row : Position<Real, -1> {};
