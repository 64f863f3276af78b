// scan_join.cuh: how a scan combines two numbers, and the neutral element. This scan_join.cuh is for sums; an operator
// may have its own file of this name.
#pragma once

template <class Real> __device__ __forceinline__ Real both(Real a, Real b) { return a + b; }
__device__ __forceinline__ float none() { return 0.0f; }
