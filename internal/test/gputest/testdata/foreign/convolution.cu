/*
operator: convolution
summary: A 2-D filter over an image, the filter in constant memory; after the description of Kernel Tuner's example.
shape: [height, width]
example: 4096x4096
axes: [h, w]
parameters:
  filter: {type: ints, default: 17, range: [1]}
derived: {input_width: width + filter_w - 1, input_height: height + filter_h - 1}
tensors:
  - {name: output, role: output, shape: [height, width]}
  - {name: input, role: input, shape: [input_height, input_width]}
  - {name: d_filter, role: constant, shape: [filter_h, filter_w], fill: "uniform(-1/(filter_h*filter_w), 1/(filter_h*filter_w))"}
cost: [4*(height*width + input_height*input_width), 2*height*width*filter_h*filter_w]
templates:
  - name: shared
    flags: ["{'--use_fast_math' if fast else ''}"]
    tunables:
      block_size_x: [16, 32, 48, 64]
      block_size_y: [1, 2, 4, 8, 16]
      tile_size_x: [1, 2, 4]
      tile_size_y: [1, 2, 4]
      use_padding: [0, 1]
      fast: [false, true]
    derived:
      staged_width: block_size_x*tile_size_x + filter_w - 1
      staged_height: block_size_y*tile_size_y + filter_h - 1
    constraints:
      - 32 <= block_size_x*block_size_y <= 1024
      - use_padding == 0 or block_size_x % 32 != 0 # else there are no conflicts to pad against
      - 4*(staged_width + use_padding)*staged_height <= 49152
    launch:
      block: [block_size_x, block_size_y]
      grid: ["ceil_div(width, block_size_x*tile_size_x)", "ceil_div(height, block_size_y*tile_size_y)"]
    default: {block_size_x: 16, block_size_y: 16, tile_size_x: 1, tile_size_y: 1, use_padding: 0, fast: false}
*/
__constant__ float d_filter[FILTER_H * FILTER_W];

extern "C" __global__ void convolution_reference(float* output, const float* input) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= (long long)HEIGHT * WIDTH) return;
    double sum = 0;
    for (int y = 0; y < FILTER_H; ++y)
        for (int x = 0; x < FILTER_W; ++x) sum += (double)d_filter[y * FILTER_W + x] * input[(i / WIDTH + y) * INPUT_WIDTH + i % WIDTH + x];
    output[i] = (float)sum;
}

extern "C" __global__ void convolution_shared(float* output, const float* input) {
    __shared__ float staged[STAGED_HEIGHT][STAGED_WIDTH + USE_PADDING];
    const int left = blockIdx.x * BLOCK_SIZE_X * TILE_SIZE_X, top = blockIdx.y * BLOCK_SIZE_Y * TILE_SIZE_Y;
    for (int y = threadIdx.y; y < STAGED_HEIGHT; y += BLOCK_SIZE_Y)
        for (int x = threadIdx.x; x < STAGED_WIDTH; x += BLOCK_SIZE_X)
            staged[y][x] = top + y < INPUT_HEIGHT && left + x < INPUT_WIDTH ? input[(top + y) * INPUT_WIDTH + left + x] : 0.0f;
    __syncthreads();
    float sums[TILE_SIZE_Y][TILE_SIZE_X] = {};
    for (int y = 0; y < FILTER_H; ++y)
        for (int x = 0; x < FILTER_W; ++x)
            for (int i = 0; i < TILE_SIZE_Y; ++i)
                for (int j = 0; j < TILE_SIZE_X; ++j)
                    sums[i][j] += d_filter[y * FILTER_W + x] * staged[threadIdx.y + i * BLOCK_SIZE_Y + y][threadIdx.x + j * BLOCK_SIZE_X + x];
    for (int i = 0; i < TILE_SIZE_Y; ++i)
        for (int j = 0; j < TILE_SIZE_X; ++j) {
            const int y = top + threadIdx.y + i * BLOCK_SIZE_Y, x = left + threadIdx.x + j * BLOCK_SIZE_X;
            if (y < HEIGHT && x < WIDTH) output[y * WIDTH + x] = sums[i][j];
        }
}
