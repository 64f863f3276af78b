// scan_source.cuh: the input of a scan: the elements of a tensor, with zeros where a mask excludes an element.
#pragma once
#include "element.cuh"

struct Elements {
    const Element* x;

    __device__ __forceinline__ float one(long long at) const { return to_float(x[at]); }
    template <int Vec>
    __device__ __forceinline__ void load(float (&to)[Vec], long long at) const { load_elements<Vec>(to, x + at); }
};

struct Masked {
    const Element* x;
    const bool* mask;

    __device__ __forceinline__ float one(long long at) const { return to_float(x[at]) * (mask[at] ? 1.0f : 0.0f); }
    template <int Vec>
    __device__ __forceinline__ void load(float (&to)[Vec], long long at) const {
        struct alignas(Vec) Bytes {
            unsigned char of[Vec];
        };
        load_elements<Vec>(to, x + at);
        const Bytes kept = *reinterpret_cast<const Bytes*>(mask + at);
#pragma unroll
        for (int e = 0; e < Vec; ++e) to[e] *= kept.of[e] ? 1.0f : 0.0f;
    }
};
