// triangle.cuh: triangular matrices; the macros are 1 for the upper and -1 for the lower triangle. Memory outside of
// an operand's triangle is never part of a sum; outputs outside of the triangle are zeros. The k loop of a tile
// covers only the elements inside both triangles.
#pragma once
// An operator parameter that has its default value is not defined as a macro.
#ifndef TRIANGULAR_A
#define TRIANGULAR_A 0
#endif
#ifndef TRIANGULAR_B
#define TRIANGULAR_B 0
#endif
#ifndef TRIANGULAR_OUTPUT
#define TRIANGULAR_OUTPUT 0
#endif
constexpr bool kTriangular = TRIANGULAR_A != 0 || TRIANGULAR_B != 0 || TRIANGULAR_OUTPUT != 0;

// Part is a range of k, of rows or of columns.
struct Part {
    long long first, end;
};

__device__ __forceinline__ bool counts(int triangle, long long row, long long column) {
    return triangle == 0 || (triangle > 0 ? row <= column : row >= column);
}

// in_common returns the range of k in which some rows of A and columns of B are both nonzero; it may be empty.
template <class Sizes>
__device__ __forceinline__ Part in_common(const Sizes& s, const Part& rows, const Part& columns) {
    Part k = {0, s.k};
    if (s.triangular_a > 0 && k.first < rows.first) k.first = rows.first;
    if (s.triangular_a < 0 && k.end > rows.end) k.end = rows.end;
    if (s.triangular_b > 0 && k.end > columns.end) k.end = columns.end;
    if (s.triangular_b < 0 && k.first < columns.first) k.first = columns.first;
    if (!counts(s.triangular_output, s.triangular_output > 0 ? rows.first : rows.end - 1, s.triangular_output > 0 ? columns.end - 1 : columns.first)) k.end = k.first;
    return k;
}
