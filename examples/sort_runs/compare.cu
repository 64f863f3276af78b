// sort_runs, compare: counts the wrong elements of a result. Keys must equal the reference's keys. Values of equal
// keys may come in any order, but each value must occur as often as in the reference.
#ifndef N
#define N 33554432
#define RUN 2048
#endif

extern "C" __global__ void sort_runs_compare(const unsigned* __restrict__ keys, const unsigned* __restrict__ values,
                                             const unsigned* __restrict__ sorted_keys, const unsigned* __restrict__ right_keys,
                                             const unsigned* __restrict__ sorted_values, const unsigned* __restrict__ right_values,
                                             double* __restrict__ wrong) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    const long long first = i / RUN * RUN, end = first + RUN;
    const unsigned key = right_keys[i], value = sorted_values[i];
    long long from = i, to = i + 1, more = 0;
    while (from > first && right_keys[from - 1] == key) --from;
    while (to < end && right_keys[to] == key) ++to;
    for (long long other = from; other < to; ++other) more += (sorted_values[other] == value) - (right_values[other] == value);
    if (sorted_keys[i] != key || more != 0) atomicAdd(wrong, 1.0);
}
