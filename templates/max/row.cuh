// row.cuh: the Row of max: the largest element of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Larger> {};
