// ldmatrix.cuh: loads 1, 2 or 4 matrices of 8 x 8 16-bit elements from shared memory as fragments for mma.sync (sm_75
// and later).
//
// Lane 8*i + r passes the address of row r of matrix i, which must be aligned to 16 bytes. Lane l receives elements
// 2*(l%4) and 2*(l%4)+1 of row l/4 of each matrix, or of column l/4 if the load transposes.
#pragma once

#ifndef AUTOTUNE_EMULATOR

template <int Matrices, bool Transposed>
__device__ __forceinline__ void ldmatrix(unsigned (&r)[Matrices], const void* row) {
    static_assert(Matrices == 1 || Matrices == 2 || Matrices == 4, "ldmatrix loads 1, 2 or 4 matrices");
#if __CUDA_ARCH__ >= 750
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
    if constexpr (Matrices == 1 && !Transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(from) : "memory");
    else if constexpr (Matrices == 1)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(from) : "memory");
    else if constexpr (Matrices == 2 && !Transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(from)
                     : "memory");
    else if constexpr (Matrices == 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(from)
                     : "memory");
    else if constexpr (!Transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(from)
                     : "memory");
#else
    __trap(); // sm_75 introduced the instruction
#endif
}

#else
#include <emulated/ldmatrix.cuh>
#endif

// load_matrices loads matrices as they are in memory; load_matrices_transposed transposes them.
template <int Matrices>
__device__ __forceinline__ void load_matrices(unsigned (&registers)[Matrices], const void* row) {
    ldmatrix<Matrices, false>(registers, row);
}
template <int Matrices>
__device__ __forceinline__ void load_matrices_transposed(unsigned (&registers)[Matrices], const void* row) {
    ldmatrix<Matrices, true>(registers, row);
}
