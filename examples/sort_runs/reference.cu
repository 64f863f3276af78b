// sort_runs, reference: one thread per element counts the elements that come before it.
#ifndef N
#define N 33554432
#define RUN 2048
#endif

extern "C" __global__ void sort_runs_reference(const unsigned* __restrict__ keys, const unsigned* __restrict__ values,
                                               unsigned* __restrict__ sorted_keys, unsigned* __restrict__ sorted_values) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    const long long first = i / RUN * RUN;
    long long place = first;
    for (long long other = first; other < first + RUN; ++other) place += keys[other] < keys[i] || (keys[other] == keys[i] && other < i);
    sorted_keys[place] = keys[i];
    sorted_values[place] = values[i];
}
