// row.cuh: the Row of argmax: the position of the row's largest element.
#include "reductions.cuh"
template <class Real> struct Row : Position<Real, 1> {};
