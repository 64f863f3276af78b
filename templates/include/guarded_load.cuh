// guarded_load.cuh: 1, 2 or 4 floats in one access, if they are there; else the registers stay
// as they are.
//
// A predicate guards the load, not a branch: the compiler can start all of a thread's loads
// before it needs the first.
//
// The address must be a multiple of the access's size where the floats are there.
#pragma once
#include "vector_access.cuh"

// load_cached loads from global memory that nobody writes, `offset` floats after `from`.
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

// load_staged loads from shared memory, `offset` floats after `from`, in order with the
// barriers around it.
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
