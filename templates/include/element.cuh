// element.cuh: tensor elements of type f32, bf16 or f16 (macro TYPE). Arithmetic uses float; stores round to nearest,
// ties to even.
#pragma once
#include "bf16.cuh"
#include "fp16.cuh"
#include "vector_access.cuh"

typedef float f32;
struct bf16 {
    unsigned short bits;
};
struct f16 {
    unsigned short bits;
};

#ifdef TYPE
typedef TYPE Element;
#else
typedef f32 Element;
#endif
template <class T>
constexpr bool kIsBf16 = false;
template <>
constexpr bool kIsBf16<bf16> = true;
constexpr bool kOf16Bits = sizeof(Element) == 2, kOfBf16 = kIsBf16<Element>;

// Pair packs two 16-bit elements into a register, the first one in the lower half.
template <class T>
struct Pair;
template <>
struct Pair<bf16> {
    __device__ __forceinline__ static unsigned pack(float low, float high) { return pack_bf16x2(low, high); }
    __device__ __forceinline__ static float low(unsigned pair) { return bf16_low(pair); }
    __device__ __forceinline__ static float high(unsigned pair) { return bf16_high(pair); }
};
template <>
struct Pair<f16> {
    __device__ __forceinline__ static unsigned pack(float low, float high) { return pack_fp16x2(low, high); }
    __device__ __forceinline__ static float low(unsigned pair) { return fp16_low(pair); }
    __device__ __forceinline__ static float high(unsigned pair) { return fp16_high(pair); }
};

__device__ __forceinline__ float to_float(f32 x) { return x; }
template <class T>
__device__ __forceinline__ float to_float(T x) {
    return Pair<T>::low(x.bits);
}

template <class T>
__device__ __forceinline__ T from_float(float x) {
    return {static_cast<unsigned short>(Pair<T>::pack(x, 0.0f))};
}
template <>
__device__ __forceinline__ f32 from_float<f32>(float x) {
    return x;
}

// read_only loads an element through the read-only cache (__ldg).
__device__ __forceinline__ float read_only(const f32* from) { return __ldg(from); }
template <class T>
__device__ __forceinline__ float read_only(const T* from) {
    return to_float(T{__ldg(&from->bits)});
}

__device__ __forceinline__ float read_early(const f32* from) {
    float x;
    load_early<1>(&x, from);
    return x;
}
template <class T>
__device__ __forceinline__ float read_early(const T* from) {
    return to_float(T{load_early(&from->bits)});
}

template <class T, int Pairs>
__device__ __forceinline__ void unpack_pairs(float* to, const float* pairs) {
#pragma unroll
    for (int i = 0; i < Pairs; ++i) {
        to[2 * i] = Pair<T>::low(__float_as_uint(pairs[i]));
        to[2 * i + 1] = Pair<T>::high(__float_as_uint(pairs[i]));
    }
}

// load_elements loads elements in one access of at most 16 bytes; the address must be aligned to the access.
template <int Elements>
__device__ __forceinline__ void load_elements(float* to, const f32* from) {
    load_vector<Elements>(to, from);
}
template <int Elements, class T>
__device__ __forceinline__ void load_elements(float* to, const T* from) {
    if constexpr (Elements == 1) {
        to[0] = to_float(*from);
    } else {
        float pairs[Elements / 2];
        load_vector<Elements / 2>(pairs, reinterpret_cast<const float*>(from));
        unpack_pairs<T, Elements / 2>(to, pairs);
    }
}

// store_elements stores elements in one access of at most 16 bytes. Streaming stores suit data that is not read again
// soon.
template <int Elements, bool Streaming = false>
__device__ __forceinline__ void store_elements(f32* to, const float* from) {
    if constexpr (Streaming)
        store_vector_streaming<Elements>(to, from);
    else
        store_vector<Elements>(to, from);
}
template <int Elements, bool Streaming = false, class T>
__device__ __forceinline__ void store_elements(T* to, const float* from) {
    if constexpr (Elements == 1) {
        *to = from_float<T>(from[0]);
    } else {
        float pairs[Elements / 2];
#pragma unroll
        for (int i = 0; i < Elements / 2; ++i) pairs[i] = __uint_as_float(Pair<T>::pack(from[2 * i], from[2 * i + 1]));
        store_elements<Elements / 2, Streaming>(reinterpret_cast<float*>(to), pairs);
    }
}
