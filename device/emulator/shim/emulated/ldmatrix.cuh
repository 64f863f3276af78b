// ldmatrix.cuh, emulated: the last lane of a warp to arrive copies the rows of the matrices to all lanes.
#pragma once

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
