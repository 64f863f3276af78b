// y is x and the sum of all x, each times one of sixteen weights.
#ifndef N
#define N 1024
#define SIGN plus
#endif
enum Sign { plus, minus };
__constant__ int table[16];

extern "C" __global__ void steps_reference(const int* x, unsigned long long* sum, int count, long long* y) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= N) return;
    long long total = 0;
    for (int k = 0; k < count; ++k) total += (long long)x[k] * table[k % 16];
    y[i] = x[i] + (SIGN == plus ? total : -total);
}
