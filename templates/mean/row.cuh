// row.cuh: what mean makes of a row.
#pragma once
#include "reductions.cuh"

template <class Real> struct Row : Mean<Real> {};
