// row.cuh: the Row of mean: the mean of a row's elements.
#include "reductions.cuh"
template <class Real> struct Row : Mean<Real> {};
