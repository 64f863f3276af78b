/*
operator: saxpy
summary: y = a*x + y, as BLAS has it.
shape: [n]
example: 16777216
tensors:
  - {name: n, type: i64, value: n}
  - {name: a, type: f32, value: 2.5}
  - {name: x, role: input, shape: [n]}
  - {name: y, role: inout, shape: [n]}
cost: [12*n, 2*n]
templates:
  - name: strided
    summary: A thread strides over runs of vec elements.
    tunables:
      threads: [128, 256, 512, 1024]
      vec: [1, 2, 4]
      blocks_per_sm: [1, 2, 4, 8, 16]
    constraints:
      - n % vec == 0
      - threads*blocks_per_sm <= 2048
    launch:
      entry: saxpy
      block: [threads]
      grid: ["min(ceil_div(n, threads*vec), sm_count*blocks_per_sm)"]
    default: {threads: 256, vec: 1, blocks_per_sm: 8}
*/

extern "C" __global__ void saxpy_reference(long long n, float a, const float* x, float* y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (float)((double)a * x[i] + y[i]);
}

struct alignas(4 * VEC) Run {
    float at[VEC];
};

extern "C" __global__ void __launch_bounds__(THREADS) saxpy(long long n, float a, const float* __restrict__ x, float* __restrict__ y) {
    const Run* from = reinterpret_cast<const Run*>(x);
    Run* to = reinterpret_cast<Run*>(y);
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n / VEC; i += (long long)gridDim.x * THREADS) {
        const Run in = from[i];
        Run out = to[i];
#pragma unroll
        for (int k = 0; k < VEC; ++k) out.at[k] += a * in.at[k];
        to[i] = out;
    }
}
