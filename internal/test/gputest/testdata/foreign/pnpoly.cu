/*
operator: pnpoly
summary: Which of many points lie in a polygon, its corners in constant memory; after the description of Kernel Tuner's example.
shape: [n]
example: "20000000"
parameters:
  corners: {default: 600, range: [3]}
tensors:
  - {name: inside, role: output, type: i32, shape: [n]}
  - {name: points, role: input, shape: [n, 2], fill: "normal(0, 1)"}
  - {name: d_corners, role: constant, shape: [corners, 2], fill: "normal(0, 1)"}
  - {name: n, type: i32, value: n}
cost: [12*n, 8*n*corners]
templates:
  - name: tiled
    tunables:
      block_size_x: [32, 64, 128, 256, 512, 1024]
      tile_size: [1, 2, 4, 8]
      between: [compare_both, compare_signs, multiply]
      toggle: [branch, exclusive_or, parity]
    launch: {block: [block_size_x], grid: ["ceil_div(n, block_size_x*tile_size)"]}
    default: {block_size_x: 256, tile_size: 1, between: compare_both, toggle: branch}
*/
enum Between { compare_both, compare_signs, multiply };
enum Toggle { branch, exclusive_or, parity };
__constant__ float2 d_corners[CORNERS];

// Whether an edge from b to a passes the height y.
template <Between How>
__device__ __forceinline__ bool passes(float y, float a, float b) {
    if constexpr (How == compare_both) return (a > y) != (b > y);
    if constexpr (How == compare_signs) return (a - y > 0.0f) ^ (b - y > 0.0f);
    return (a > y ? 1 : -1) * (b > y ? 1 : -1) < 0;
}

template <Between How>
__device__ __forceinline__ bool crosses(float2 p, float2 a, float2 b) {
    return passes<How>(p.y, a.y, b.y) && p.x < __fadd_rn(__fdiv_rn(__fmul_rn(b.x - a.x, p.y - a.y), b.y - a.y), a.x);
}

extern "C" __global__ void pnpoly_reference(int* inside, const float2* points, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    int odd = 0;
    for (int k = 0, last = CORNERS - 1; k < CORNERS; last = k++) odd ^= crosses<compare_both>(points[i], d_corners[k], d_corners[last]);
    inside[i] = odd;
}

extern "C" __global__ void pnpoly_tiled(int* inside, const float2* points, int n) {
    const int first = blockIdx.x * BLOCK_SIZE_X * TILE_SIZE + threadIdx.x;
    float2 p[TILE_SIZE];
    int odd[TILE_SIZE] = {};
    for (int t = 0; t < TILE_SIZE; ++t) p[t] = first + t * BLOCK_SIZE_X < n ? points[first + t * BLOCK_SIZE_X] : make_float2(0.0f, 0.0f);
    for (int k = 0, last = CORNERS - 1; k < CORNERS; last = k++) {
        const float2 a = d_corners[k], b = d_corners[last];
        for (int t = 0; t < TILE_SIZE; ++t) {
            const bool crossed = crosses<BETWEEN>(p[t], a, b);
            if (TOGGLE == branch) {
                if (crossed) odd[t] = !odd[t];
            } else if (TOGGLE == exclusive_or) {
                odd[t] ^= crossed;
            } else {
                odd[t] += crossed;
            }
        }
    }
    for (int t = 0; t < TILE_SIZE; ++t)
        if (first + t * BLOCK_SIZE_X < n) inside[first + t * BLOCK_SIZE_X] = odd[t] & 1;
}
