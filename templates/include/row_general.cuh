// row_general.cuh: one answer of a row of any problem, whose elements are taken in order.
#include "element.cuh"
#include "row_state.cuh"

#ifndef SIZES
#define SIZES long long outer, length, inner
#endif
struct Sizes {
    SIZES;
};

__device__ Element row_general(const Element* x, const Sizes& s, long long i) {
    const long long row = Row<double>::kMaps ? i / s.inner / s.length * s.inner + i % s.inner : i;
    x += row / s.inner * s.length * s.inner + row % s.inner;
    Row<double> state;
    state.start();
    for (long long j = 0; j < s.length; ++j) {
        const float one[1] = {to_float(x[j * s.inner])};
        state.join(one, j, 1);
    }
    state.finish(s.length);
    const long long j = Row<double>::kMaps ? i / s.inner % s.length : 0;
    return to_answer(state.give(to_float(x[j * s.inner]), j, NoWeights()));
}
