// vector_access.cuh: loads and stores of 1, 2 or 4 floats in one access.
//
// The address in memory must be a multiple of the access's size. A streaming access says that the data will not be used
// again soon, so that the caches keep other data.
#pragma once

template <int Floats> struct FloatVector;
template <> struct FloatVector<1> { typedef float type; };
template <> struct FloatVector<2> { typedef float2 type; };
template <> struct FloatVector<4> { typedef float4 type; };

__device__ __forceinline__ void unpack_vector(float* to, float v) { to[0] = v; }
__device__ __forceinline__ void unpack_vector(float* to, float2 v) { to[0] = v.x, to[1] = v.y; }
__device__ __forceinline__ void unpack_vector(float* to, float4 v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; }

template <int Floats>
__device__ __forceinline__ typename FloatVector<Floats>::type pack_vector(const float* from) {
    if constexpr (Floats == 1)
        return from[0];
    else if constexpr (Floats == 2)
        return make_float2(from[0], from[1]);
    else
        return make_float4(from[0], from[1], from[2], from[3]);
}

template <int Floats>
__device__ __forceinline__ void load_vector(float* to, const float* from) {
    unpack_vector(to, *reinterpret_cast<const typename FloatVector<Floats>::type*>(from));
}

// load_vector_streaming loads data from global memory that is used once.
template <int Floats>
__device__ __forceinline__ void load_vector_streaming(float* to, const float* from) {
    unpack_vector(to, __ldcs(reinterpret_cast<const typename FloatVector<Floats>::type*>(from)));
}

template <int Floats>
__device__ __forceinline__ void store_vector(float* to, const float* from) {
    *reinterpret_cast<typename FloatVector<Floats>::type*>(to) = pack_vector<Floats>(from);
}

// store_vector_streaming stores data to global memory that is not read soon.
template <int Floats>
__device__ __forceinline__ void store_vector_streaming(float* to, const float* from) {
    __stcs(reinterpret_cast<typename FloatVector<Floats>::type*>(to), pack_vector<Floats>(from));
}
