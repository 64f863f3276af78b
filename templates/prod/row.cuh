// row.cuh: the Row of prod: the product of a row's elements.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Times> {};
