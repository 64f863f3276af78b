// row.cuh: what prod makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Times> {};
