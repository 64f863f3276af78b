// row_product.cuh: the inner loop of the emulated tensor cores multiplies one row of A by four columns of B at a
// time. Products are added one after the other, in double.
#pragma once

template <int Columns, int Depth>
inline void emulated_row_product(double (&sums)[Columns], const float (&a)[Depth], const float (&b)[Depth][Columns]) {
    static_assert(Columns % 4 == 0, "four columns at once");
    typedef float Floats __attribute__((vector_size(16), aligned(4), may_alias));
    typedef double Doubles __attribute__((vector_size(32), aligned(8), may_alias));
    for (int column = 0; column < Columns; column += 4) {
        Doubles four = reinterpret_cast<Doubles&>(sums[column]);
        for (int k = 0; k < Depth; ++k)
            four += (double)a[k] * __builtin_convertvector(reinterpret_cast<const Floats&>(b[k][column]), Doubles);
        reinterpret_cast<Doubles&>(sums[column]) = four;
    }
}
