// chain.cuh: the operator's function F of the elements x, w and b.
#pragma once
#include "activations.cuh"

#ifndef F
#define F relu(x)
#endif

struct Chain : Activations {
    static __device__ __forceinline__ float of(float x, float w, float b) { return F; }
};
