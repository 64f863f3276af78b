// peak_sums measures the peak rate of fp32 multiply-adds, with eight independent accumulators per thread.
extern "C" __global__ void __launch_bounds__(256) peak_sums(const float* __restrict__ x, float* __restrict__ y) {
    const float factor = 0.5f * x[0], more = x[1];
    float s[8];
#pragma unroll
    for (int chain = 0; chain < 8; ++chain) s[chain] = x[(threadIdx.x + chain) % 32];
#pragma unroll UNROLL
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int chain = 0; chain < 8; ++chain) s[chain] = fmaf(s[chain], factor, more);
    }
    float sum = 0;
#pragma unroll
    for (int chain = 0; chain < 8; ++chain) sum += s[chain];
    y[256ll * blockIdx.x + threadIdx.x] = sum;
}
