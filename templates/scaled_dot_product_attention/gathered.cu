// scaled_dot_product_attention in fp32 on Hopper's warpgroup products (sm_90a), of any width:
// products, then sums of their exponentials, then averages, a launch each. Products lie in a
// workspace between them, since averages of a wide head fill more registers than there are.
//
// Both launches of products are slab_gemm.cuh's mainloop over operands that many warps gather
// (gathered_operands.cuh). Those of averages make weights of products on the way. Operands are split
// into two parts of fp16, three products for one. A power of two brings a head's queries, keys
// and values into the range of fp16. It is that of a sample of their elements, with room for larger ones.
// Where that was too little, averages are not finite, and computed again as their definition says.
//
// The tunables are slab_gemm.cuh's.
#define PARTS two_fp16
#define TILES_N Work::tiles_n()
#include "compiled_sizes.cuh"
#include "gathered_operands.cuh"
#include "power_scale.cuh"

namespace {

constexpr float kLog2E = 1.4426950408889634f, kWeightPower = 4096.0f;  // exponentials are 1 at most
constexpr int kStageDepth = DEPTH * kStepDepth;

// sampled_power is a head's power of two. Every warp finds the same.
__device__ __forceinline__ PowerScale sampled_power(const float* matrix, long long elements) {
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned magnitude = as_magnitude(__ldg(matrix + elements * (threadIdx.x % 32 * 4 + i) / 128));
        most = most > magnitude ? most : magnitude;
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffu, most, lanes);
        most = most > other ? most : other;
    }
    constexpr unsigned room = 11u << 23;
    return PowerScale(most == 0 ? 0x3f800000u + room : most < 0x7f000000u - room ? most + room : 0x7f000000u);
}

// Powered lines are a head's, times its power of two.
template <bool Contiguous, int Depth>
struct Powered : MatrixLines<Contiguous, Depth> {
    typedef MatrixLines<Contiguous, Depth> Plain;
    float power;
    __device__ __forceinline__ Powered(const float* head, int lines) : Plain{head, lines}, power(sampled_power(head, static_cast<long long>(lines) * Depth).power) {}
    __device__ __forceinline__ void load(typename Plain::Line line, int k, float (&v)[8]) const {
        Plain::load(line, k, v);
#pragma unroll
        for (float& x : v) x *= power;
    }
};

__device__ __forceinline__ long long head_kv(int group) {
    return static_cast<long long>(group) / HEADS * HEADS_KV + group % HEADS / (HEADS / HEADS_KV);
}
__device__ __forceinline__ const float* queries_of(const AttentionPlain& of, int group) { return of.q + static_cast<long long>(group) * QUERIES * WIDTH; }
__device__ __forceinline__ const float* keys_of(const AttentionPlain& of, int group) { return of.k + head_kv(group) * KEYS * WIDTH; }
__device__ __forceinline__ const float* values_of(const AttentionPlain& of, int group) { return of.v + head_kv(group) * KEYS * WIDTH_V; }

struct AttentionWork {
    static constexpr int kParts = 1;
    __device__ __forceinline__ static int groups() { return BATCH * HEADS; }
    __device__ __forceinline__ static constexpr int step_shift(int) { return 0; }
};

// ---- Products.

struct ProductsOutput {
    typedef AttentionPlain Given;
    static constexpr int kMixed = 1;
    const float* mask;
    float inverse, other;
    long long first;
    __device__ __forceinline__ ProductsOutput(const Tile& tile, const Given& of)
        : mask(of.mask), inverse(sampled_power(queries_of(of, tile.group), static_cast<long long>(QUERIES) * WIDTH).inverse),
          other(sampled_power(keys_of(of, tile.group), static_cast<long long>(KEYS) * WIDTH).inverse),
          first(static_cast<long long>(tile.group) * QUERIES * KEYS) {
        if (MASK_BATCH) mask += (static_cast<long long>(MASK_BATCH > 1 ? tile.group / HEADS : 0) * MASK_HEADS + (MASK_HEADS > 1 ? tile.group % HEADS : 0)) * QUERIES * KEYS;
    }
    __device__ __forceinline__ long long column(int c, int) const { return c < KEYS ? first + c : -1; }
    __device__ __forceinline__ void store(float* y, int row, long long place, float sum) const {
        if (row >= QUERIES) return;
        const long long inside = static_cast<long long>(row) * KEYS;
        // Half of a product that was too large may be an infinity: let it be seen.
        float value = is_finite(sum) ? unscaled(sum, inverse, other) * static_cast<float>(SCALE) : NAN;
        if (MASK_BATCH) value += __ldg(mask + inside + (place - first));
        if (CAUSAL && place - first > row) value = negative_infinity();
        y[place + inside] = value;
    }
};

struct ProductsWork : AttentionWork {
    typedef AttentionPlain Operands;
    typedef ProductsOutput Output;
    static constexpr bool kMasked = false;
    static constexpr int kStages = (WIDTH + kStageDepth - 1) / kStageDepth;
    struct Rows : Powered<true, WIDTH> {
        __device__ __forceinline__ Rows(const Operands& of, const Tile& tile) : Powered(queries_of(of, tile.group), QUERIES) {}
    };
    struct Columns : Powered<true, WIDTH> {
        __device__ __forceinline__ Columns(const Operands& of, const Tile& tile) : Powered(keys_of(of, tile.group), KEYS) {}
    };
    __device__ __forceinline__ static int tiles_n() { return (KEYS + TILE_N - 1) / TILE_N; }
    __device__ __forceinline__ static long long outputs() { return static_cast<long long>(groups()) * QUERIES * KEYS; }
};

// ---- Averages, of products and of what each row of them needs: its largest, and one over the sum
// of the exponentials.

struct Weighed {
    AttentionPlain of;
    const float* products;
    const float2* rows;
};

struct AveragesOutput {
    typedef Weighed Given;
    static constexpr int kMixed = 1;
    const float2* rows;
    float inverse;
    long long first;
    __device__ __forceinline__ AveragesOutput(const Tile& tile, const Given& given)
        : rows(given.rows + static_cast<long long>(tile.group) * QUERIES),
          inverse(sampled_power(values_of(given.of, tile.group), static_cast<long long>(KEYS) * WIDTH_V).inverse),
          first(static_cast<long long>(tile.group) * QUERIES * WIDTH_V) {}
    __device__ __forceinline__ long long column(int c, int) const { return c < WIDTH_V ? first + c : -1; }
    template <class To>
    __device__ __forceinline__ void store(const To& y, int row, long long place, float sum) const {
        if (row < QUERIES) y[place + static_cast<long long>(row) * WIDTH_V] = sum * (1.0f / kWeightPower) * rows[row].y * inverse;
    }
};

struct AveragesWork : AttentionWork {
    typedef Weighed Operands;
    typedef AveragesOutput Output;
    static constexpr bool kMasked = true;
    static constexpr int kStages = (KEYS + kStageDepth - 1) / kStageDepth;
    struct Rows {
        typedef MatrixLines<true, KEYS> Products;
        static constexpr bool kContiguous = true;
        struct Line {
            const float* products;
            float largest;
        };
        Products lines;
        const float2* rows;
        __device__ __forceinline__ Rows(const Operands& of, const Tile& tile)
            : lines{of.products + static_cast<long long>(tile.group) * QUERIES * KEYS, QUERIES}, rows(of.rows + static_cast<long long>(tile.group) * QUERIES) {}
        __device__ __forceinline__ Line line(int index) const { return {lines.line(index), rows[index < QUERIES ? index : QUERIES - 1].x}; }
        __device__ __forceinline__ void load(const Line& line, int k, float (&v)[8]) const {
            lines.load(line.products, k, v);
#pragma unroll
            for (int i = 0; i < 8; ++i) v[i] = k + i < KEYS ? exp2f((v[i] - line.largest) * kLog2E) * kWeightPower : 0.0f;
        }
    };
    struct Columns : Powered<false, KEYS> {
        __device__ __forceinline__ Columns(const Operands& of, const Tile& tile) : Powered(values_of(of.of, tile.group), WIDTH_V) {}
    };
    __device__ __forceinline__ static int tiles_n() { return (WIDTH_V + TILE_N - 1) / TILE_N; }
    __device__ __forceinline__ static long long outputs() { return static_cast<long long>(groups()) * QUERIES * WIDTH_V; }
};

}  // namespace

// With causal, products of keys behind a tile's last row are nobody's, and neither are their weights.
template <>
struct TileStages<ProductsWork> {
    __device__ __forceinline__ static Stages of(const Tile& tile) { return {0, CAUSAL && tile.n * TILE_N >= (tile.m + 1) * TILE_M ? 1 : ProductsWork::kStages}; }
};
template <>
struct TileStages<AveragesWork> {
    __device__ __forceinline__ static Stages of(const Tile& tile) {
        const int met = ((tile.m + 1) * TILE_M + kStageDepth - 1) / kStageDepth;
        return {0, CAUSAL && met < AveragesWork::kStages ? met : AveragesWork::kStages};
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scaled_dot_product_attention_gathered_products(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ mask, float* __restrict__ products) {
    extern __shared__ __align__(128) uint4 memory[];
    const AttentionPlain of = {q, k, nullptr, mask};
    slab_gemm<ProductsWork, Gatherers>(reinterpret_cast<char*>(memory), of, of, products);
}

// A warp has a row.
extern "C" __global__ void __launch_bounds__(256)
    scaled_dot_product_attention_gathered_rows(const float* __restrict__ products, float* __restrict__ rows) {
    wait_for_launches();
    const long long row = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) / 32;
    if (row >= static_cast<long long>(BATCH) * HEADS * QUERIES) return;
    float most = negative_infinity(), sum = 0;
    const int query = static_cast<int>(row % QUERIES), met = CAUSAL && query + 1 < KEYS ? query + 1 : KEYS;
    for (int key = threadIdx.x % 32; key < met; key += 32) most = fmaxf(most, products[row * KEYS + key]);
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
    if (most == negative_infinity()) most = 0;
    for (int key = threadIdx.x % 32; key < met; key += 32) sum += exp2f((products[row * KEYS + key] - most) * kLog2E);
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0) reinterpret_cast<float2*>(rows)[row] = make_float2(most, sum == 0.0f ? 0.0f : 1.0f / sum);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scaled_dot_product_attention_gathered_averages(const float* __restrict__ products, const float* __restrict__ rows, const float* __restrict__ q,
                                                   const float* __restrict__ k, const float* __restrict__ v, const float* __restrict__ mask, float* __restrict__ y) {
    extern __shared__ __align__(128) uint4 memory[];
    const Weighed of = {{q, k, v, mask}, products, reinterpret_cast<const float2*>(rows)};
    slab_gemm<AveragesWork, Gatherers>(reinterpret_cast<char*>(memory), of, of, y, of.of);
}
