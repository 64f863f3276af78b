// row.cuh: the Row of sum: the sum of a row's elements.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Plus> {};
