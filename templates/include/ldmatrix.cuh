// ldmatrix.cuh: 1, 2 or 4 matrices of 8 x 8 16-bit elements from shared memory
// into registers, laid out as mma.cuh wants them (sm_75 on).
//
// Lane 8*i + r gives the address of row r of matrix i: 16 bytes, aligned to 16.
// Lane l then holds, of each matrix, row l/4, elements 2*(l%4) and 2*(l%4)+1, the
// first in the lower half; transposed, column l/4. A row may also be 4 elements
// of 32 bits, which is how TF32 operands are loaded (not transposed).
#pragma once

#ifdef AUTOTUNE_EMULATOR

struct EmulatedLdmatrix {
    const void* row;
    unsigned* registers;
};

template <int Matrices, bool Transposed>
inline void emulated_ldmatrix(void** lanes, unsigned members) {
    assert(members == 0xffffffffu && "ldmatrix needs all 32 lanes");
    for (int lane = 0; lane < 32; ++lane) {
        for (int matrix = 0; matrix < Matrices; ++matrix) {
            unsigned both = 0;
            for (int half = 0; half < 2; ++half) {
                const int i = lane / 4, j = lane % 4 * 2 + half;
                const int row = Transposed ? j : i, column = Transposed ? i : j;
                const void* from = static_cast<EmulatedLdmatrix*>(lanes[matrix * 8 + row])->row;
                both |= (unsigned)static_cast<const unsigned short*>(from)[column] << (16 * half);
            }
            static_cast<EmulatedLdmatrix*>(lanes[lane])->registers[matrix] = both;
        }
    }
}

template <int Matrices, bool Transposed>
inline void ldmatrix(unsigned (&registers)[Matrices], const void* row) {
    static_assert(Matrices == 1 || Matrices == 2 || Matrices == 4, "ldmatrix loads 1, 2 or 4 matrices");
    assert(reinterpret_cast<size_t>(row) % 16 == 0 || autotune_lane() >= 8 * Matrices);
    EmulatedLdmatrix mine = {row, registers};
    autotune_warp_meet(0xffffffffu, "ldmatrix", &mine, emulated_ldmatrix<Matrices, Transposed>);
}

#else

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
    __trap(); // no such instruction before sm_75
#endif
}

#endif

// load_matrices loads matrices as they lie; load_matrices_transposed turned over.
template <int Matrices>
__device__ __forceinline__ void load_matrices(unsigned (&registers)[Matrices], const void* row) {
    ldmatrix<Matrices, false>(registers, row);
}
template <int Matrices>
__device__ __forceinline__ void load_matrices_transposed(unsigned (&registers)[Matrices], const void* row) {
    ldmatrix<Matrices, true>(registers, row);
}
