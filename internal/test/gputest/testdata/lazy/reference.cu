// What is right.
#ifndef N
#define N 65536
#endif
#ifndef ROUNDS
#define ROUNDS 400
#endif
extern "C" __global__ void lazy_reference(const float* __restrict__ x, float* __restrict__ y) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float s = x[i];
  for (int q = 0; q < ROUNDS; ++q) s = s * 0.999f + 0.001f;
  y[i] = s;
}
