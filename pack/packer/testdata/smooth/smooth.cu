__constant__ float taps[3];

__device__ void smooth(float* y, const float* x, int* negative) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float sum = 0;
    int count = 0;
    for (int k = 0; k < 3; ++k) {
        const float neighbour = i + k > 0 && i + k <= N ? x[i + k - 1] : 0;
        sum += taps[k] * neighbour, count += neighbour < 0;
    }
    y[i] = sum, negative[i] = count;
}

extern "C" __global__ void smooth_reference(float* y, const float* x, int* negative) { smooth(y, x, negative); }

extern "C" __global__ void smooth_plain(float* y, const float* x, int* negative) { smooth(y, x, negative); }
