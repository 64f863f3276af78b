// guarded_load.cuh: conditional loads of several elements in one access of at most 16 bytes, aligned to its size. If
// the condition is false, the destination registers keep their values.
//
// Loads are predicated and need no branch, so the compiler can start all loads of a thread before it uses the first
// one.
#pragma once
#include "element.cuh"

// load_cached loads elements from read-only global memory, `offset` floats after `from`, if `there` is true.
template <int Floats>
__device__ __forceinline__ void load_cached(float* to, const float* from, int offset, bool there) {
    from += offset;
#ifdef AUTOTUNE_EMULATOR
    if (there) load_vector<Floats>(to, from);
#else
    if constexpr (Floats == 4)
        asm("{.reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];}"
            : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
            : "l"(from), "r"((int)there));
    else if constexpr (Floats == 2)
        asm("{.reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f32 {%0, %1}, [%2];}"
            : "+f"(to[0]), "+f"(to[1])
            : "l"(from), "r"((int)there));
    else
        asm("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.f32 %0, [%1];}"
            : "+f"(to[0])
            : "l"(from), "r"((int)there));
#endif
}

// This overload of load_cached loads 16-bit elements.
template <int Elements, class T>
__device__ __forceinline__ void load_cached(float* to, const T* from, int offset, bool there) {
    if constexpr (Elements == 1) {
        if (there) to[0] = read_only(from + offset);
    } else {
        float pairs[Elements / 2];
#pragma unroll
        for (int i = 0; i < Elements / 2; ++i) pairs[i] = __uint_as_float(Pair<T>::pack(to[2 * i], to[2 * i + 1]));
        load_cached<Elements / 2>(pairs, reinterpret_cast<const float*>(from + offset), 0, there);
        unpack_pairs<T, Elements / 2>(to, pairs);
    }
}

// load_staged loads elements from shared memory, `offset` floats after `from`, if `there` is true. The asm is volatile,
// so the compiler does not move the load across barriers.
template <int Floats>
__device__ __forceinline__ void load_staged(float* to, const float* from, int offset, bool there) {
#ifdef AUTOTUNE_EMULATOR
    if (there) load_vector<Floats>(to, from + offset);
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(from)) + 4 * offset;
    if constexpr (Floats == 4)
        asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; @p ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];}"
                     : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                     : "r"(at), "r"((int)there));
    else if constexpr (Floats == 2)
        asm volatile("{.reg .pred p; setp.ne.s32 p, %3, 0; @p ld.shared.v2.f32 {%0, %1}, [%2];}"
                     : "+f"(to[0]), "+f"(to[1])
                     : "r"(at), "r"((int)there));
    else
        asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.shared.f32 %0, [%1];}"
                     : "+f"(to[0])
                     : "r"(at), "r"((int)there));
#endif
}
