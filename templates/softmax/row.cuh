// row.cuh: what softmax makes of a row.
#pragma once
#include "softmax_row.cuh"

template <class Real> struct Row : Softmax<Real, false> {};
