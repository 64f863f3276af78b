// row.cuh: what max makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Larger> {};
