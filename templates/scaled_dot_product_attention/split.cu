// scaled_dot_product_attention in fp32 on Hopper's warpgroup products (sm_90a), of any width that is a
// multiple of four: products, then averages, a launch each. Products lie in a workspace between
// them, since averages of a wide head fill more registers than there are.
//
// Both are split_gemm.cuh's. Where products leave, each row of a tile leaves its largest product
// and the sum of the exponentials, too. Averages make weights of products on the way. A first launch makes
// tensor maps, and finds powers of two that bring a head's queries, keys and values into the range of
// fp16. A power is that of a sample of their elements, with room for larger ones. Where that was too
// little, averages are not finite, and computed again as their definition says.
//
// Tunables
//   columns  of a tile, whose rows are 128: more of them read less of the L2 for a product, against registers
//   stages   of columns in parts
//   ahead    stages that the copy engine brings, or that are being split
//   cluster  blocks that bring keys, or values, together: they read less of the L2, and wait for each other
#define PARTS two_fp16
#define TILES_N Work::tiles_n()
#include "compiled_sizes.cuh"
#include "exponential.cuh"
#include "power_scale.cuh"
#include "split_gemm.cuh"

namespace {

constexpr float kWeightPower = 4096.0f;  // exponentials are 1 at most

// sampled_power is a head's power of two.
__device__ __forceinline__ float sampled_power(const float* matrix, long long elements) {
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
    return PowerScale(most == 0 ? 0x3f800000u + room : most < 0x7f000000u - room ? most + room : 0x7f000000u).power;
}
__device__ __forceinline__ float inverse_of(float power) { return __uint_as_float((254u << 23) - __float_as_uint(power)); }

// Powers are those of the heads of queries, then of keys, then of values.
__device__ __forceinline__ int head_kv(int group) { return group / HEADS * HEADS_KV + group % HEADS / (HEADS / HEADS_KV); }
__device__ __forceinline__ int power_of_keys(int group) { return BATCH * HEADS + head_kv(group); }
__device__ __forceinline__ int power_of_values(int group) { return BATCH * (HEADS + HEADS_KV) + head_kv(group); }

// store_two stores the outputs that there are of two side by side, the first of even index.
template <int Length>
__device__ __forceinline__ void store_two(float* line, int at, float left, float right) {
    if constexpr (Length % 2 == 0) {
        if (at < Length) *reinterpret_cast<float2*>(line + at) = make_float2(left, right);
    } else {
        if (at < Length) line[at] = left;
        if (at + 1 < Length) line[at + 1] = right;
    }
}

struct AttentionWork {
    static constexpr int kParts = 1;
    __device__ __forceinline__ static int groups() { return BATCH * HEADS; }
    __device__ __forceinline__ static int group_b(int group) { return head_kv(group); }
};

// ---- Products.

// Part is what a row has of a tile's products.
struct Part {
    float largest, weights;
};
constexpr int kPartsOfRow = (KEYS + TILE_N - 1) / TILE_N;
constexpr int kProductsApart = (KEYS + 3) / 4 * 4;  // rows of products: the copy engine wants multiples of 16 bytes

struct ProductOperands {
    const TensorMap* maps;
    const float *mask, *powers;
    Part* parts;
};

struct ProductsWork : AttentionWork {
    typedef ProductOperands Operands;
    static constexpr bool kAcross = false;
    static constexpr int kTerms = WIDTH, kStages = (kTerms + kStageDepth - 1) / kStageDepth;
    __device__ __forceinline__ static int tiles_n() { return kPartsOfRow; }
    // With causal, products of keys behind a tile's last row are nobody's.
    __device__ __forceinline__ static int stages(const Tile& tile) { return CAUSAL && tile.n * TILE_N >= (tile.m + 1) * TILE_M ? 1 : kStages; }
    __device__ __forceinline__ static float power(const Operands& of, int group) { return __ldg(of.powers + power_of_keys(group)); }

    struct Rows {
        float power;
        __device__ __forceinline__ Rows(const Operands& of, const Tile& tile, int) : power(__ldg(of.powers + tile.group)) {}
        __device__ __forceinline__ float factor(float x, int, int) const { return x * power; }
    };

    __device__ __forceinline__ static void leave(Sums& sums, const Operands& of, const Rows& rows, const Tile& tile, int mine, float* products) {
        const int lane = threadIdx.x % 32, first = tile.n * TILE_N + lane % 4 * 2;
        const float inverse = inverse_of(rows.power), other = inverse_of(power(of, tile.group));
        const float smaller = fminf(inverse, other), larger = fmaxf(inverse, other) * static_cast<float>(SCALE);
        const bool edge = CAUSAL || (tile.n + 1) * TILE_N > KEYS;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = tile.m * TILE_M + mine + 8 * half;
            const bool there = row < QUERIES;
            const long long line = static_cast<long long>(tile.group) * QUERIES + row;
            const float* mask = of.mask;
            if (MASK_BATCH) mask += ((static_cast<long long>(MASK_BATCH > 1 ? tile.group / HEADS : 0) * MASK_HEADS + (MASK_HEADS > 1 ? tile.group % HEADS : 0)) * QUERIES + row) * KEYS;
            float most = negative_infinity(), weights = 0;
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int column = first + 8 * j + i;
                    float& sum = sums[4 * j + 2 * half + i];
                    // Half of a product that was too large may be an infinity: times zero it is NaN, and seen.
                    sum = fmaf(sum, 0.0f, sum * smaller * larger);
                    if (MASK_BATCH && there && column < KEYS) sum += __ldg(mask + column);
                    if (edge && ((CAUSAL && column > row) || column >= KEYS)) sum = negative_infinity();
                    most = fmaxf(most, sum);
                }
                if (there) store_two<KEYS>(products + line * kProductsApart, first + 8 * j, sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
            }
#pragma unroll
            for (int lanes = 1; lanes < 4; lanes *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
            const float from = most == negative_infinity() ? 0.0f : most;
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j)
#pragma unroll
                for (int i = 0; i < 2; ++i) weights += power_of_two((sums[4 * j + 2 * half + i] - from) * kLog2E);
#pragma unroll
            for (int lanes = 1; lanes < 4; lanes *= 2) weights += __shfl_xor_sync(0xffffffffu, weights, lanes);
            if (there && lane % 4 == 0) of.parts[line * kPartsOfRow + tile.n] = {most, weights};
        }
    }
};

// ---- Averages.

struct AverageOperands {
    const TensorMap* maps;
    AttentionPlain plain;
    const float* powers;
    const Part* parts;
};

struct AveragesWork : AttentionWork {
    typedef AverageOperands Operands;
    static constexpr bool kAcross = true;
    static constexpr int kTerms = KEYS, kStages = (kTerms + kStageDepth - 1) / kStageDepth;
    __device__ __forceinline__ static int tiles_n() { return (WIDTH_V + TILE_N - 1) / TILE_N; }
    // With causal, weights of keys behind a tile's last row are zeros.
    __device__ __forceinline__ static int stages(const Tile& tile) {
        const int met = ((tile.m + 1) * TILE_M + kStageDepth - 1) / kStageDepth;
        return CAUSAL && met < kStages ? met : kStages;
    }
    __device__ __forceinline__ static float power(const Operands& of, int group) { return __ldg(of.powers + power_of_values(group)); }

    // Rows have their largest product, and what sums are multiplied by.
    struct Rows {
        float largest[2], over[2];
        __device__ __forceinline__ Rows(const Operands& of, const Tile& tile, int row) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                int line = row + 8 * half;
                if (line >= QUERIES) line = QUERIES - 1;
                const Part* const parts = of.parts + (static_cast<long long>(tile.group) * QUERIES + line) * kPartsOfRow;
                float most = negative_infinity(), weights = 0;
#pragma unroll 4
                for (int i = 0; i < kPartsOfRow; ++i) most = fmaxf(most, parts[i].largest);
                if (most == negative_infinity()) most = 0;
#pragma unroll 4
                for (int i = 0; i < kPartsOfRow; ++i) weights += parts[i].weights * power_of_two((parts[i].largest - most) * kLog2E);
                largest[half] = most;
                over[half] = (weights == 0.0f ? 0.0f : 1.0f / weights) * (1.0f / kWeightPower);
            }
        }
        __device__ __forceinline__ float factor(float x, int half, int k) const {
            if (KEYS % kStageDepth != 0 && k >= KEYS) return 0.0f;
            return power_of_two((x - largest[half]) * kLog2E) * kWeightPower;
        }
    };

    // What mends averages (gemm_tiles.cuh).
    struct Output {
        static constexpr int kMixed = 1;
        long long first;
        __device__ __forceinline__ long long column(int c, int) const { return c < WIDTH_V ? first + c : -1; }
        template <class To>
        __device__ __forceinline__ void store(const To& y, int row, long long place, float value) const {
            if (row < QUERIES) y[place + static_cast<long long>(row) * WIDTH_V] = value;
        }
    };

    __device__ __forceinline__ static void leave(Sums& sums, const Operands& of, const Rows& rows, const Tile& tile, int mine, float* y) {
        const int lane = threadIdx.x % 32, first = tile.n * TILE_N + lane % 4 * 2;
        const float inverse = inverse_of(power(of, tile.group));
        const long long head = static_cast<long long>(tile.group) * QUERIES * WIDTH_V;
        float zeros = 0;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = tile.m * TILE_M + mine + 8 * half;
            if (row >= QUERIES) continue;
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j) {
                const float left = sums[4 * j + 2 * half] * rows.over[half] * inverse, right = sums[4 * j + 2 * half + 1] * rows.over[half] * inverse;
                zeros += (left + right) * 0.0f;
                store_two<WIDTH_V>(y + head + static_cast<long long>(row) * WIDTH_V, first + 8 * j, left, right);
            }
        }
        if (__any_sync(0xffffffffu, zeros != 0.0f)) mend(Output{head}, of.plain, y, tile.m * TILE_M + static_cast<int>(threadIdx.x) / 32 * 16, tile.n * TILE_N);
    }
};

}  // namespace

// A warp has a head, or one of the maps: of queries, keys, products, values.
extern "C" __global__ void __launch_bounds__(256)
    scaled_dot_product_attention_split_prepare(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                                               const float* __restrict__ products, float* __restrict__ powers, float* __restrict__ maps) {
    begin_dependents();
    __shared__ TensorMap scratch[8];
    const int warp = threadIdx.x / 32, i = blockIdx.x * 8 + warp, heads = BATCH * HEADS, heads_kv = BATCH * HEADS_KV, map = i - heads - 2 * heads_kv;
    if (map < 0) {
        const bool values = i >= heads + heads_kv;
        const long long elements = static_cast<long long>(i < heads ? QUERIES : KEYS) * (values ? WIDTH_V : WIDTH);
        const float* const matrix = i < heads ? q + i * elements : values ? v + (i - heads - heads_kv) * elements : k + (i - heads) * elements;
        const float power = sampled_power(matrix, elements);
        if (threadIdx.x % 32 == 0) powers[i] = power;
        return;
    }
    TensorMap *const made = reinterpret_cast<TensorMap*>(maps) + map, *const mine = scratch + warp;
    if (map == 0) make_tensor_map(made, mine, box_of_lines<WIDTH>(q, WIDTH, QUERIES, heads, TILE_M));
    if (map == 1) make_tensor_map(made, mine, box_of_lines<WIDTH>(k, WIDTH, KEYS, heads_kv, kColumnsOfBlock));
    if (map == 2) make_tensor_map(made, mine, box_of_lines<KEYS>(products, kProductsApart, QUERIES, heads, TILE_M));
    if (map == 3) make_tensor_map(made, mine, box_across<WIDTH_V>(v, KEYS, heads_kv));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scaled_dot_product_attention_split_products(const float* __restrict__ maps, const float* __restrict__ mask, const float* __restrict__ powers,
                                                float* __restrict__ products, float* __restrict__ parts) {
    extern __shared__ __align__(1024) uint4 memory[];
    split_gemm<ProductsWork>(reinterpret_cast<char*>(memory), {reinterpret_cast<const TensorMap*>(maps), mask, powers, reinterpret_cast<Part*>(parts)}, products);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scaled_dot_product_attention_split_averages(const float* __restrict__ maps, const float* __restrict__ products, const float* __restrict__ parts,
                                                const float* __restrict__ powers, const float* __restrict__ q, const float* __restrict__ k,
                                                const float* __restrict__ v, const float* __restrict__ mask, float* __restrict__ y) {
    extern __shared__ __align__(1024) uint4 memory[];
    split_gemm<AveragesWork>(reinterpret_cast<char*>(memory),
                             {reinterpret_cast<const TensorMap*>(maps) + 2, {q, k, v, mask}, powers, reinterpret_cast<const Part*>(parts)}, y);
}
