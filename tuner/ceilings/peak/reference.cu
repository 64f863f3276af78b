// peak_reference is the reference for the kernels that measure peak rates.
extern "C" __global__ void peak_reference(const float* x, float* y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 256ll * BLOCKS) return;
    const int thread = i % 256;
    float sum = 0;
    if (OF_FP32) {
        for (int chain = 0; chain < 8; ++chain) {
            float s = x[(thread + chain) % 32];
            for (int step = 0; step < STEPS; ++step) s = fmaf(s, 0.5f * x[0], x[1]);
            sum += s;
        }
    } else if (OF_L2) {
        for (int step = 0; step < STEPS; ++step) {
            const long long at = (i + step * 256ll * BLOCKS) % 262144 * 4;
            sum += x[at] + x[at + 1] + x[at + 2] + x[at + 3];
        }
    } else {
        sum = STEPS;
    }
    y[i] = sum;
}
