// y = w*x + 1 with the weights taken in turn. MODE 0 does just that; the others
// each do one thing that a device must notice:
//   1 a wrong value    2 a fault            3 no end
//   4 a stray write    5 a changed input    6 65536 bytes of shared memory, which is right
//   7 elements left out
// and these do what only a program that watches sees; their results are right:
//   8 a read past the end    9 a race in shared memory
//   10 a read of what nobody wrote    11 a barrier that half of each warp meets
#ifndef N
#define N 1024
#endif
#ifndef MODE
#define MODE 0
#endif

extern __shared__ float scratch[];

extern "C" __global__ void affine_direct(const float* __restrict__ x, const float* __restrict__ w,
                                         const float* __restrict__ none, float* __restrict__ y) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= N) return;
    float value = w[i % 16] * x[i] + 1.0f;
#if MODE == 1
    if (i == 777) value += 0.5f;
#elif MODE == 2
    if (i == 0) *(volatile float*)8 = value;
#elif MODE == 3
    while (*(volatile const float*)&x[i] < 10.0f) {}
#elif MODE == 4
    if (i == 0) y[N + 3] = value;
#elif MODE == 5
    if (i == 5) const_cast<float*>(x)[i] = 42.0f;
#elif MODE == 6
    scratch[16383 - threadIdx.x] = value;
    __syncthreads();
    value = scratch[16383 - threadIdx.x];
#elif MODE == 7
    if (i % 2 == 1) return;
#elif MODE == 8
    if (i == 0 && *(volatile const float*)&x[N + 5] == -1e9f) value = 0.0f;
#elif MODE == 9
    __shared__ volatile float shared[256];
    shared[threadIdx.x] = value;
    if (shared[255 - threadIdx.x] == -1e9f) value = 0.0f;
#elif MODE == 10
    if (*(volatile const float*)&y[i] == -1e9f) value = 0.0f;
#elif MODE == 11
    if (threadIdx.x % 2 == 0) __syncthreads();
#endif
    y[i] = value;
}
