/*
operator: matmul
summary: The product of two square matrices, staged in shared memory; after the description of Kernel Tuner's tutorial.
shape: [width]
example: "4096"
tensors:
  - {name: c, role: output, shape: [width, width], tolerance: [1e-3, 1e-4]}
  - {name: a, role: input, shape: [width, width]}
  - {name: b, role: input, shape: [width, width]}
cost: [12*width**2, 2*width**3]
templates:
  - name: tiled
    tunables:
      block_size_x: [16, 32, 64]
      block_size_y: [1, 2, 4, 8, 16, 32]
      tile_size_x: [1, 2, 4]
      tile_size_y: [1, 2, 4, 8]
    constraints:
      - block_size_x == block_size_y*tile_size_y # as many rows as columns of a factor are staged
      - width % (block_size_x*tile_size_x) == 0 and width % (block_size_y*tile_size_y) == 0
    launch:
      block: [block_size_x, block_size_y]
      grid: ["width // (block_size_x*tile_size_x)", "width // (block_size_y*tile_size_y)"]
    default: {block_size_x: 32, block_size_y: 32, tile_size_x: 1, tile_size_y: 1}
*/
extern "C" __global__ void matmul_reference(float* c, const float* a, const float* b) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= (long long)WIDTH * WIDTH) return;
    double sum = 0;
    for (int k = 0; k < WIDTH; ++k) sum += (double)a[i / WIDTH * WIDTH + k] * b[(long long)k * WIDTH + i % WIDTH];
    c[i] = (float)sum;
}

// A block stages a square of each factor and makes TILE_SIZE_Y x TILE_SIZE_X elements a thread.
extern "C" __global__ void matmul_tiled(float* c, const float* a, const float* b) {
    constexpr int kSide = BLOCK_SIZE_X, kColumns = BLOCK_SIZE_X * TILE_SIZE_X;
    __shared__ float as[kSide][kSide], bs[kSide][kColumns];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * kColumns + tx, row = blockIdx.y * kSide + ty;
    float sums[TILE_SIZE_Y][TILE_SIZE_X] = {};
    for (int first = 0; first < WIDTH; first += kSide) {
        __syncthreads();
        for (int i = 0; i < TILE_SIZE_Y; ++i) {
            const int y = ty + i * BLOCK_SIZE_Y;
            as[y][tx] = a[(row + i * BLOCK_SIZE_Y) * WIDTH + first + tx];
            for (int j = 0; j < TILE_SIZE_X; ++j) bs[y][tx + j * BLOCK_SIZE_X] = b[(first + y) * WIDTH + column + j * BLOCK_SIZE_X];
        }
        __syncthreads();
        for (int k = 0; k < kSide; ++k)
            for (int i = 0; i < TILE_SIZE_Y; ++i)
                for (int j = 0; j < TILE_SIZE_X; ++j) sums[i][j] += as[ty + i * BLOCK_SIZE_Y][k] * bs[k][tx + j * BLOCK_SIZE_X];
    }
    for (int i = 0; i < TILE_SIZE_Y; ++i)
        for (int j = 0; j < TILE_SIZE_X; ++j) c[(row + i * BLOCK_SIZE_Y) * WIDTH + column + j * BLOCK_SIZE_X] = sums[i][j];
}
