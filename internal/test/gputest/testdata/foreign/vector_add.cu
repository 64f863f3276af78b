/*
operator: vector_add
summary: The sum of two vectors; the first example of Kernel Tuner's guide, by its description.
shape: [n]
example: "80000000"
tensors:
  - {name: c, role: output, shape: [n]}
  - {name: a, role: input, shape: [n]}
  - {name: b, role: input, shape: [n]}
  - {name: n, type: i32, value: n}
cost: [12*n, n]
reference: simple
templates:
  - name: simple
    tunables: {block_size_x: [32, 64, 96, 128, 192, 256, 512, 1024]}
    launch: {entry: vector_add, block: [block_size_x], grid: ["ceil_div(n, block_size_x)"]}
    default: {block_size_x: 128}
*/
__global__ void vector_add(float* c, const float* a, const float* b, int n) {
    int i = blockIdx.x * BLOCK_SIZE_X + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
