// row.cuh: what min makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Smaller> {};
