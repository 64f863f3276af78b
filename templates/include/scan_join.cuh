// scan_join.cuh: how a scan combines two numbers, and the neutral element. This file is for sums; an operator such as
// cumprod has its own scan_join.cuh.
#pragma once

template <class Real> __device__ __forceinline__ Real both(Real a, Real b) { return a + b; }
__device__ __forceinline__ float none() { return 0.0f; }
