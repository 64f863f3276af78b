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

// load_early loads from global memory, and a compiler does not move it behind later stores. Compilers move other loads
// of memory that nobody writes to their first uses, where each of them waits for memory alone.
template <int Floats>
__device__ __forceinline__ void load_early(float* to, const void* from) {
#ifdef AUTOTUNE_EMULATOR
    load_vector<Floats>(to, static_cast<const float*>(from));
#else
    if constexpr (Floats == 1)
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(to[0]) : "l"(from));
    else if constexpr (Floats == 2)
        asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "l"(from));
    else
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                     : "l"(from));
#endif
}
__device__ __forceinline__ unsigned short load_early(const unsigned short* from) {
    unsigned short bits = 0;
#ifdef AUTOTUNE_EMULATOR
    bits = *from;
#else
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(bits) : "l"(from));
#endif
    return bits;
}

__device__ __forceinline__ void prefetch_to_l2(const void* at) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("prefetch.global.L2 [%0];" : : "l"(at));
#endif
}
