// row.cuh: the Row of min: the smallest element of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Smaller> {};
