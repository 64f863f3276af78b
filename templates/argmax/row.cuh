// row.cuh: what argmax makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Position<Real, 1> {};
