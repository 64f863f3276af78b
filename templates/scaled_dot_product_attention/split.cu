// scaled_dot_product_attention in fp32 by Hopper's wgmma (sm_90a), for widths that are a multiple of four. One launch
// computes the softmax weights, and another one multiplies them by V. The weights are stored in a workspace in
// between, since outputs of wide heads do not fit into registers.
//
// Both launches use the mainloop of split_gemm.cuh, which splits floats into two fp16 values. The first launch stores
// exponentials relative to the row's maximum in each tile, and this maximum and the exponentials' sum, by which the
// second launch rescales its outputs from tile to tile.
//
// An earlier launch computes powers of two that scale the Q, K and V of each head into the range of fp16, from a
// sample of their elements. If a larger element overflows, the output is not finite, and is computed again by its
// definition.
//
// Tunables:
//   columns: columns of a tile of 128 rows
//   stages:  pipeline stages with K or V split into fp16 values
//   ahead:   pipeline stages with K or V as loaded by TMA
//   cluster: blocks that load K or V together by multicast
#define FLOAT_PARTS two_fp16
#define TILES_N Work::tiles_n()
#include "compiled_sizes.cuh"
#include "exponential.cuh"
#include "power_scale.cuh"
#include "split_gemm.cuh"

namespace {

constexpr float kWeightPower = 4096.0f;  // exponentials are at most 1

// sampled_power computes the power of two that scales one head of Q, K or V into the range of fp16, from a sample of
// 128 elements.
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

// The powers of two of Q are stored first, then those of K, then those of V.
__device__ __forceinline__ int head_kv(int group) { return group / HEADS * HEADS_KV + group % HEADS / (HEADS / HEADS_KV); }
__device__ __forceinline__ int power_of_keys(int group) { return BATCH * HEADS + head_kv(group); }
__device__ __forceinline__ int power_of_values(int group) { return BATCH * (HEADS + HEADS_KV) + head_kv(group); }

struct AttentionWork {
    static constexpr int kParts = 1;
    __device__ __forceinline__ static int groups() { return BATCH * HEADS; }
    __device__ __forceinline__ static int group_b(int group) { return head_kv(group); }
};

// TileRow is a row's maximum in a tile, and the sum of its exponentials.
struct TileRow {
    float largest, total;  // of exponentials
};
constexpr int kTiles = (KEYS + TILE_N - 1) / TILE_N, kWeightsApart = WHOLE_KEYS;

// ---- The launch that computes the softmax weights.

struct WeightOperands {
    MappedOperands maps;
    const float *mask, *powers;
    TileRow* rows;
};

struct WeightsWork : AttentionWork {
    typedef WeightOperands Operands;
    static constexpr bool kAcross = false, kInParts = false;
    static constexpr int kStages = (WIDTH + kStageDepth - 1) / kStageDepth, kMoves = 128 / kStageDepth;
    __device__ __forceinline__ static int tiles_n() { return kTiles; }
    // With causal masking, a tile whose keys all come after its last query is skipped.
    __device__ __forceinline__ static int stages(const Tile& tile) { return CAUSAL && tile.n * TILE_N >= (tile.m + 1) * TILE_M ? 1 : kStages; }
    __device__ __forceinline__ static float power_a(const Operands& of, int group) { return __ldg(of.powers + group); }
    __device__ __forceinline__ static float power(const Operands& of, int group) { return __ldg(of.powers + power_of_keys(group)); }

    struct Rows {
        __device__ __forceinline__ Rows(const Operands&, const Tile&, int) {}
        __device__ __forceinline__ void begin(int) {}
        __device__ __forceinline__ void move(Sums& sums, const Sums& some) {
#pragma unroll
            for (int i = 0; i < COLUMNS / 2; ++i) sums[i] += some[i];
        }
    };

    __device__ __forceinline__ static void leave(Sums& sums, const Operands& of, const Rows&, const Tile& tile, int mine, float* weights) {
        const int lane = threadIdx.x % 32, first = tile.n * TILE_N + lane % 4 * 2;
        const float inverse = inverse_of(power_a(of, tile.group)), other = inverse_of(power(of, tile.group));
        const float smaller = fminf(inverse, other), larger = fmaxf(inverse, other) * static_cast<float>(SCALE);
        const bool edge = CAUSAL || (tile.n + 1) * TILE_N > KEYS;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = tile.m * TILE_M + mine + 8 * half;
            const bool there = row < QUERIES;
            const long long line = static_cast<long long>(tile.group) * QUERIES + row;
            const float* mask = of.mask;
            if (MASK_BATCH) mask += ((static_cast<long long>(MASK_BATCH > 1 ? tile.group / HEADS : 0) * MASK_HEADS + (MASK_HEADS > 1 ? tile.group % HEADS : 0)) * QUERIES + row) * KEYS;
            float most = negative_infinity(), total = 0;
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int column = first + 8 * j + i;
                    float& sum = sums[4 * j + 2 * half + i];
                    // After an fp16 overflow the sum may be infinite: adding the sum times zero makes it NaN, so that
                    // the overflow is noticed.
                    sum = fmaf(sum, 0.0f, sum * smaller * larger);
                    if (MASK_BATCH && there && column < KEYS) sum += __ldg(mask + column);
                    if (edge && ((CAUSAL && column > row) || column >= KEYS)) sum = negative_infinity();
                    most = fmaxf(most, sum);
                }
            }
#pragma unroll
            for (int lanes = 1; lanes < 4; lanes *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
            const float from = most == negative_infinity() ? 0.0f : most;
            const auto weight = [&](int i) {
                const float exponential = power_of_two((sums[i + 2 * half] - from) * kLog2E);
                total += exponential;
                return exponential * kWeightPower;
            };
            uint4* const to = reinterpret_cast<uint4*>(weights + line * kWeightsApart + tile.n * TILE_N) + lane % 4;
#pragma unroll
            for (int i = 0; i < COLUMNS / 2; i += 8) {  // one step's fragment
                uint4 parts;
                const float a = weight(i), b = weight(i + 1), c = weight(i + 4), d = weight(i + 5);
                split(a, b, parts.x, parts.z);
                split(c, d, parts.y, parts.w);
                if (there) to[i / 2] = parts;
            }
#pragma unroll
            for (int lanes = 1; lanes < 4; lanes *= 2) total += __shfl_xor_sync(0xffffffffu, total, lanes);
            if (there && lane % 4 == 0) of.rows[line * kTiles + tile.n] = {most, total};
        }
    }
};

// ---- The launch that multiplies the softmax weights by V.

struct AverageOperands {
    MappedOperands maps;
    AttentionPlain plain;
    const float* powers;
    const TileRow* rows;
};

struct AveragesWork : AttentionWork {
    typedef AverageOperands Operands;
    static constexpr bool kAcross = true, kInParts = true;
    static constexpr int kStages = (KEYS + kStageDepth - 1) / kStageDepth, kMoves = TILE_N / kStageDepth;
    __device__ __forceinline__ static int tiles_n() { return (WIDTH_V + TILE_N - 1) / TILE_N; }
    // With causal masking, the weights of keys after a tile's last query are zeros.
    __device__ __forceinline__ static int stages(const Tile& tile) {
        const int met = ((tile.m + 1) * TILE_M + kStageDepth - 1) / kStageDepth;
        return CAUSAL && met < kStages ? met : kStages;
    }
    __device__ __forceinline__ static float power_a(const Operands&, int) { return 1.0f; }  // rows are already parts
    __device__ __forceinline__ static float power(const Operands& of, int group) { return __ldg(of.powers + power_of_values(group)); }

    // Rows holds the maximum and the sum of exponentials of a lane's two rows: over all tiles so far, and in the
    // current tile.
    struct Rows {
        const TileRow* all;
        int first[2];  // where a row's TileRows begin
        TileRow so_far[2], next[2];
        __device__ __forceinline__ Rows(const Operands& of, const Tile& tile, int row) : all(of.rows) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int line = row + 8 * half < QUERIES ? row + 8 * half : QUERIES - 1;
                first[half] = (tile.group * QUERIES + line) * kTiles;
                so_far[half] = {negative_infinity(), 0.0f};
            }
        }
        __device__ __forceinline__ void begin(int tile) {
#pragma unroll
            for (int half = 0; half < 2; ++half) next[half] = all[first[half] + tile];
        }
        __device__ __forceinline__ void move(Sums& sums, const Sums& some) {
            float less[2], more[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                TileRow& row = so_far[half];
                const float most = fmaxf(row.largest, next[half].largest), from = most == negative_infinity() ? 0.0f : most;
                less[half] = power_of_two((row.largest - from) * kLog2E);
                more[half] = power_of_two((next[half].largest - from) * kLog2E);
                row = {most, row.total * less[half] + next[half].total * more[half]};
            }
#pragma unroll
            for (int i = 0; i < COLUMNS / 2; ++i) sums[i] = fmaf(some[i], more[i / 2 % 2], sums[i] * less[i / 2 % 2]);
        }
        __device__ __forceinline__ float over(int half) const { return so_far[half].total == 0.0f ? 0.0f : 1.0f / (so_far[half].total * kWeightPower); }
    };

    // Output stores outputs that are computed again because they were not finite (gemm_tiles.cuh).
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
            const float over = rows.over(half);
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j) {
                const float left = sums[4 * j + 2 * half] * over * inverse, right = sums[4 * j + 2 * half + 1] * over * inverse;
                zeros += (left + right) * 0.0f;
                if (first + 8 * j < WIDTH_V) *reinterpret_cast<float2*>(y + head + static_cast<long long>(row) * WIDTH_V + first + 8 * j) = make_float2(left, right);
            }
        }
        if (__any_sync(0xffffffffu, zeros != 0.0f)) mend(Output{head}, of.plain, y, tile.m * TILE_M + static_cast<int>(threadIdx.x) / 32 * 16, tile.n * TILE_N);
    }
};

}  // namespace

// Each warp computes the power of two that scales one head.
extern "C" __global__ void __launch_bounds__(256)
    scaled_dot_product_attention_split_prepare(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                                               float* __restrict__ powers) {
    begin_dependents();
    const int i = blockIdx.x * 8 + threadIdx.x / 32, heads = BATCH * HEADS, heads_kv = BATCH * HEADS_KV;
    if (i >= heads + 2 * heads_kv) return;
    const bool values = i >= heads + heads_kv;
    const long long elements = static_cast<long long>(i < heads ? QUERIES : KEYS) * (values ? WIDTH_V : WIDTH);
    const float* const matrix = i < heads ? q + i * elements : values ? v + (i - heads - heads_kv) * elements : k + (i - heads) * elements;
    const float power = sampled_power(matrix, elements);
    if (threadIdx.x % 32 == 0) powers[i] = power;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scaled_dot_product_attention_split_weights(const __grid_constant__ TensorMap queries, const __grid_constant__ TensorMap keys,
                                               const float* __restrict__ mask, const float* powers, float* weights,
                                               float* rows) {
    extern __shared__ __align__(1024) uint4 memory[];
    split_gemm<WeightsWork>(reinterpret_cast<char*>(memory), {{&queries, &keys}, mask, powers, reinterpret_cast<TileRow*>(rows)}, weights);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    scaled_dot_product_attention_split_averages(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap values,
                                                const float* rows, const float* powers, const float* __restrict__ q,
                                                const float* __restrict__ k, const float* __restrict__ v, const float* __restrict__ mask,
                                                float* __restrict__ y) {
    extern __shared__ __align__(1024) uint4 memory[];
    split_gemm<AveragesWork>(reinterpret_cast<char*>(memory),
                             {{&weights, &values}, {q, k, v, mask}, powers, reinterpret_cast<const TileRow*>(rows)}, y);
}
