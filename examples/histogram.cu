/*
operator: histogram
summary: Counts integers by their value, on top of what was counted before.
shape: [n]
example: 268435456
parameters:
  bins: {type: int, default: 256, range: [1], summary: "the integers are 0 to bins - 1"}
requires:
  bins <= 4096: "{bins} bins are too many; 4096 are the most"
tensors:
  - {name: x, role: input, type: i32, shape: [n], fill: "integers(0, bins - 1)"}
  - {name: n, type: i64, value: n}
  - {name: counts, role: inout, type: u32, shape: [bins], fill: "range(7, 3)"}
inputs: [uniform01]  # all have fills of their own
cost: [4*n + 8*bins]
reference: plain
templates:
  - name: shared
    summary: Each block counts in shared memory, in several copies of the counts, and adds them up at the end.
    tunables:
      threads: [128, 256, 512, 1024]
      copies: [1, 4, 8, 16, 32]
      unroll: [1, 2, 4, 8]
      blocks_per_sm: [1, 2, 4, 8]
    constraints:
      - threads*blocks_per_sm <= 2048
      - 4*bins*copies*blocks_per_sm <= max_shared
    launch:
      block: [threads]
      grid: ["min(ceil_div(n, 4*threads), sm_count*blocks_per_sm)"]
      shared: 4*bins*copies
    default: {threads: 256, copies: 1, unroll: 1, blocks_per_sm: 4}
  - name: plain
    summary: A thread an integer adds 1 to its count in memory.
    launch:
      block: [256]
      grid: ["ceil_div(n, 256)"]
*/

// The reference kernel: all threads add to the same few counters in global memory.
extern "C" __global__ void histogram_plain(const int* __restrict__ x, long long n, unsigned* __restrict__ counts) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(counts + x[i], 1u);
}

// In the kernel `shared`, each block counts in shared memory, and adds to the counters in global memory once per bin.
//   threads:       threads per block
//   copies:        copies of the counters in shared memory: lanes use different copies to avoid conflicts
//   unroll:        accesses in flight at once
//   blocks_per_sm: blocks per multiprocessor
extern "C" __global__ void __launch_bounds__(THREADS)
histogram_shared(const int* __restrict__ x, long long n, unsigned* __restrict__ counts) {
    extern __shared__ unsigned own[];  // [bin][copy]
    for (int i = threadIdx.x; i < BINS * COPIES; i += THREADS) own[i] = 0;
    __syncthreads();

    unsigned* mine = own + threadIdx.x % COPIES;
    const int4* fours = reinterpret_cast<const int4*>(x);
    const long long stride = (long long)gridDim.x * THREADS;
    const long long start = (long long)blockIdx.x * THREADS + threadIdx.x;
    for (long long i = start; i < n / 4; i += UNROLL * stride) {
        int4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) v[u] = i + u * stride < n / 4 ? fours[i + u * stride] : make_int4(-1, -1, -1, -1);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            if (v[u].x < 0) break;
            atomicAdd(mine + v[u].x * COPIES, 1u);
            atomicAdd(mine + v[u].y * COPIES, 1u);
            atomicAdd(mine + v[u].z * COPIES, 1u);
            atomicAdd(mine + v[u].w * COPIES, 1u);
        }
    }
    if (start < n % 4) atomicAdd(mine + x[n - 1 - start] * COPIES, 1u);
    __syncthreads();

    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; ++c) sum += own[bin * COPIES + (c + bin) % COPIES];  // each lane reads another bank
        if (sum > 0) atomicAdd(counts + bin, sum);
    }
}
