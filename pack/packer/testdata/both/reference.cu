extern "C" __global__ void both_reference(const float* x, float* y, long long* lacks, double low) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = x[i] < 0 ? (float)low : sqrtf(x[i]), lacks[i] = x[i] < 0;
}
