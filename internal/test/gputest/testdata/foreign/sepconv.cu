/*
operator: sepconv
summary: A separable filter over an image, rows first and then columns, in two launches; after the description of Kernel Tuner's example.
shape: [height, width]
example: 4096x4096
parameters:
  radius: {default: 8, range: [0]}
derived: {taps: 2*radius + 1}
tensors:
  - {name: output, role: output, shape: [height, width]}
  - {name: input, role: input, shape: [height, width]}
  - {name: between, role: workspace, shape: [height, width]}
  - {name: d_filter, role: constant, shape: [taps], fill: "uniform(-1/taps, 1/taps)"}
cost: [8*height*width, 4*height*width*taps]
templates:
  - name: staged
    tunables:
      block_size_x: [16, 32, 64, 128]
      block_size_y: [1, 2, 4, 8, 16]
      tile_size_x: [1, 2, 4]
      tile_size_y: [1, 2, 4]
    constraints: [64 <= block_size_x*block_size_y <= 1024, "4*(block_size_x*tile_size_x + 2*radius)*(block_size_y*tile_size_y + 2*radius) <= 49152"]
    launch:
      - {entry: "separable<rows>", block: [block_size_x, block_size_y], grid: ["ceil_div(width, block_size_x*tile_size_x)", "ceil_div(height, block_size_y*tile_size_y)"], arguments: [between, input]}
      - {entry: "separable<columns>", block: [block_size_x, block_size_y], grid: ["ceil_div(width, block_size_x*tile_size_x)", "ceil_div(height, block_size_y*tile_size_y)"], arguments: [output, between]}
    default: {block_size_x: 32, block_size_y: 8, tile_size_x: 1, tile_size_y: 1}
*/
enum Direction { rows, columns };
__constant__ float d_filter[TAPS];

extern "C" __global__ void sepconv_reference(float* output, const float* input, float* between) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= (long long)HEIGHT * WIDTH) return;
    double sum = 0;
    for (int v = 0; v < TAPS; ++v)
        for (int u = 0; u < TAPS; ++u) {
            const long long y = i / WIDTH + v - RADIUS, x = i % WIDTH + u - RADIUS;
            if (y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH) sum += (double)d_filter[v] * d_filter[u] * input[y * WIDTH + x];
        }
    output[i] = (float)sum;
}

// What lies outside of the image counts as zero.
template <Direction D>
__global__ void separable(float* to, const float* from) {
    constexpr int kHaloX = D == rows ? RADIUS : 0, kHaloY = D == columns ? RADIUS : 0;
    constexpr int kWidth = BLOCK_SIZE_X * TILE_SIZE_X + 2 * kHaloX, kHeight = BLOCK_SIZE_Y * TILE_SIZE_Y + 2 * kHaloY;
    __shared__ float staged[kHeight][kWidth];
    const int left = blockIdx.x * BLOCK_SIZE_X * TILE_SIZE_X, top = blockIdx.y * BLOCK_SIZE_Y * TILE_SIZE_Y;
    for (int y = threadIdx.y; y < kHeight; y += BLOCK_SIZE_Y)
        for (int x = threadIdx.x; x < kWidth; x += BLOCK_SIZE_X) {
            const int row = top + y - kHaloY, column = left + x - kHaloX;
            staged[y][x] = row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH ? from[row * WIDTH + column] : 0.0f;
        }
    __syncthreads();
    for (int i = 0; i < TILE_SIZE_Y; ++i)
        for (int j = 0; j < TILE_SIZE_X; ++j) {
            const int y = threadIdx.y + i * BLOCK_SIZE_Y, x = threadIdx.x + j * BLOCK_SIZE_X;
            float sum = 0;
            for (int t = 0; t < TAPS; ++t) sum += d_filter[t] * (D == rows ? staged[y][x + t] : staged[y + t][x]);
            if (top + y < HEIGHT && left + x < WIDTH) to[(top + y) * WIDTH + left + x] = sum;
        }
}
