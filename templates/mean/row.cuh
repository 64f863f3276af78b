// row.cuh: what mean makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Mean<Real> {};
