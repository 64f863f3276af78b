/*
operator: expdist
summary: The Bhattacharyya distance of two sets of particles, in two launches; after the description of Kernel Tuner's example.
shape: [size_a, size_b]
example: 30000x30000
tensors:
  - {name: a, role: input, type: f64, shape: [size_a, 2], fill: "normal(0, 1)"}
  - {name: b, role: input, type: f64, shape: [size_b, 2], fill: "normal(0, 1)"}
  - {name: size_a, type: i32, value: size_a}
  - {name: size_b, type: i32, value: size_b}
  - {name: scale_a, role: input, type: f64, shape: [size_a], fill: "uniform(0.01, 0.1)"}
  - {name: scale_b, role: input, type: f64, shape: [size_b], fill: "uniform(0.01, 0.1)"}
  - {name: distance, role: output, type: f64, shape: [1], tolerance: [1e-10, 1e-9]}
  - {name: partial, role: workspace, type: f64, shape: ["ceil_div(size_a, 32)*size_b"]}
cost: [24*(size_a + size_b), 10*size_a*size_b]
templates:
  - name: tiled
    tunables:
      block_size_x: [32, 64, 128]
      block_size_y: [1, 2, 4]
      tile_size_x: [1, 2, 4]
      tile_size_y: [1, 2]
      reducers: [64, 256]
    derived:
      blocks_x: ceil_div(size_a, block_size_x*tile_size_x)
      blocks_y: ceil_div(size_b, block_size_y*tile_size_y)
      blocks: blocks_x*blocks_y
    constraints: [64 <= block_size_x*block_size_y <= 1024]
    launch:
      - {entry: cross_terms, block: [block_size_x, block_size_y], grid: [blocks_x, blocks_y], arguments: [a, b, size_a, size_b, scale_a, scale_b, partial]}
      - {entry: reduce_cross_terms, block: [reducers], grid: [1], arguments: [distance, partial]}
    default: {block_size_x: 32, block_size_y: 2, tile_size_x: 1, tile_size_y: 1, reducers: 256}
*/
__device__ __forceinline__ double term(double2 a, double2 b, double scale_a, double scale_b) {
    const double dx = a.x - b.x, dy = a.y - b.y;
    return exp(-(dx * dx + dy * dy) / (scale_a * scale_a + scale_b * scale_b));
}

extern "C" __global__ void expdist_reference(const double2* a, const double2* b, int size_a, int size_b, const double* scale_a,
                                             const double* scale_b, double* distance, double* partial) {
    if (blockIdx.x * 256 + threadIdx.x > 0) return;
    double sum = 0;
    for (int i = 0; i < size_a; ++i)
        for (int j = 0; j < size_b; ++j) sum += term(a[i], b[j], scale_a[i], scale_b[j]);
    *distance = sum;
}

// The sum over a block of Threads threads; thread 0 has it.
template <int Threads>
__device__ double block_sum(double value, int thread) {
    __shared__ double parts[Threads];
    parts[thread] = value;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (thread < half && thread + half < Threads) parts[thread] += parts[thread + half];
        __syncthreads();
    }
    return parts[0];
}

#ifdef BLOCK_SIZE_X
extern "C" __global__ void cross_terms(const double2* a, const double2* b, int size_a, int size_b, const double* scale_a,
                                       const double* scale_b, double* partial) {
    const int i = blockIdx.x * BLOCK_SIZE_X * TILE_SIZE_X + threadIdx.x, j = blockIdx.y * BLOCK_SIZE_Y * TILE_SIZE_Y + threadIdx.y;
    double sum = 0;
    for (int s = 0; s < TILE_SIZE_X; ++s)
        for (int t = 0; t < TILE_SIZE_Y; ++t) {
            const int p = i + s * BLOCK_SIZE_X, q = j + t * BLOCK_SIZE_Y;
            if (p < size_a && q < size_b) sum += term(a[p], b[q], scale_a[p], scale_b[q]);
        }
    const int thread = threadIdx.y * BLOCK_SIZE_X + threadIdx.x;
    sum = block_sum<BLOCK_SIZE_X * BLOCK_SIZE_Y>(sum, thread);
    if (thread == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

extern "C" __global__ void reduce_cross_terms(double* distance, const double* partial) {
    double sum = 0;
    for (int i = threadIdx.x; i < BLOCKS; i += REDUCERS) sum += partial[i];
    sum = block_sum<REDUCERS>(sum, threadIdx.x);
    if (threadIdx.x == 0) *distance = sum;
}
#endif
