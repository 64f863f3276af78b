// row.cuh: what argmin makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Position<Real, -1> {};
