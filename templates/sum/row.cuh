// row.cuh: what sum makes of a row.
#include "reductions.cuh"
template <class Real> struct Row : Reduction<Real, Plus> {};
