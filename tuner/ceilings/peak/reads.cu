// peak_reads measures L2 bandwidth: it reads 4 MiB again and again, bypassing the L1.
extern "C" __global__ void __launch_bounds__(256) peak_reads(const float4* __restrict__ x, float* __restrict__ y) {
    const long long i = 256ll * blockIdx.x + threadIdx.x;
    float sum = 0;
#pragma unroll UNROLL
    for (int step = 0; step < STEPS; ++step) {
        const float4 v = __ldcg(x + (i + step * 256ll * BLOCKS) % 262144);
        sum += v.x + v.y + v.z + v.w;
    }
    y[i] = sum;
}
