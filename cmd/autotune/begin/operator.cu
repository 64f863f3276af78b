/*
# An operator in one file: this comment describes it, the kernels follow.
#
#   autotune verify ./NAME.cu --shape 1000 --sanitize    is it right, also at odd sizes?
#   autotune space ./NAME.cu --shape 1048576             what would be searched?
#   autotune search ./NAME.cu --shape 1048576            which is the fastest here?

operator: NAME
summary: y = a*x, element by element.  # one line for `autotune ops show`
shape: [n]         # what --shape gives; expressions know it as n, kernels as the macro N
example: 1048576   # the defaults below are checked against it

# The kernels' arguments, in order: tensors (f32 unless `type` says otherwise) by
# their pointers, scalars by value.
tensors:
  - {name: n, type: i64, value: n}
  - {name: a, type: f32, value: 2.5}
  - {name: x, role: input, shape: [n]}
  - {name: y, role: output, shape: [n]}

# For the roofline: each input read once and each output written once, in bytes.
cost: [8*n, n]

# What is searched: all values of all tunables together, less what a constraint
# forbids. Kernels know them as macros in upper case.
templates:
  - name: strided
    summary: Each thread strides over runs of vec elements.
    tunables:
      threads: [64, 128, 256, 512, 1024]
      vec: [1, 2, 4]
      blocks_per_sm: [1, 2, 4, 8, 16]
    constraints:
      - n % vec == 0
      - threads*blocks_per_sm <= 2048
    launch:
      block: [threads, 1, 1]
      grid: ["min(ceil_div(n, threads*vec), sm_count*blocks_per_sm)", 1, 1]
    # What a careful first draft would use; speedups are told over it.
    default: {threads: 256, vec: 1, blocks_per_sm: 8}
*/

// The reference kernel decides which results are right. Each thread computes one element, in the plainest code.
extern "C" __global__ void NAME_reference(long long n, float a, const float* x, float* y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (float)((double)a * x[i]);
}

struct alignas(4 * VEC) Run {
    float at[VEC];
};

// The kernel that is tuned: each thread loads and stores VEC elements at a time.
extern "C" __global__ void __launch_bounds__(THREADS)
NAME_strided(long long n, float a, const float* __restrict__ x, float* __restrict__ y) {
    const Run* from = reinterpret_cast<const Run*>(x);
    Run* to = reinterpret_cast<Run*>(y);
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n / VEC; i += (long long)gridDim.x * THREADS) {
        Run run = from[i];
#pragma unroll
        for (int k = 0; k < VEC; ++k) run.at[k] *= a;
        to[i] = run;
    }
}
