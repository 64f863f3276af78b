// The same in single precision. MODE 0 does just that; the others each do one thing
// that a device must notice:
//   1 a wrong f16           2 an i32 that is off by one
//   3 a byte behind u       4 a total that is right only if nobody restores it
//   5 a workspace that should hold zeros
//   6 a total left alone    7 a changed input
#include "half.cuh"
#ifndef N
#define N 1024
#endif
#ifndef MODE
#define MODE 0
#endif

#if MODE == 4
__device__ unsigned long long threads;  // so far, of all launches
#endif

extern "C" __global__ void mixed_direct(const unsigned short* __restrict__ x, const unsigned char* __restrict__ q, int shift,
                                        const int* __restrict__ k, const unsigned short* __restrict__ w, unsigned short* __restrict__ y,
                                        long long* __restrict__ total, int* __restrict__ c, unsigned char* __restrict__ u,
                                        double* __restrict__ scratch, double offset) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= N) return;
    float value = from_bfloat(w[i % 16]) * from_half(x[i]) + (float)offset;
    int sum = k[i] + shift * q[i];
#if MODE == 1
    if (i == 777) value += 0.5f;
#elif MODE == 2
    if (i == 777) ++sum;
#elif MODE == 3
    if (i == 0) u[N] = 1;
#elif MODE == 5
    value += (float)scratch[i];
#elif MODE == 7
    if (i == 5) const_cast<unsigned char*>(q)[i] = 200;
#endif
    scratch[i] = value;
    y[i] = to_half(value);
    c[i] = sum;
    u[i] = (unsigned char)(q[i] * q[i] + 3);
#if MODE == 4
    if (atomicAdd(&threads, 1ull) / N == 0) total[i] += sum;
#elif MODE != 6
    total[i] += sum;
#endif
}
