// online_softmax.cuh: the online softmax of scores that are in registers, and the assignment of query rows to blocks.
// A lane holds scores of two rows, each of which it shares with three neighbouring lanes (mma.cuh).
//
// A masked key has the weight zero, and zero times an infinite value is NaN. An output that is not finite although
// its weights are is therefore computed again.
#pragma once
#include "compiled_sizes.cuh"
#include "exponential.cuh"
#include "finite.cuh"

// Rows are a block's queries, from `first` on, of one head. With causal masking, the queries that attend to most keys
// come first, so that blocks finish at about the same time. Blocks that run at the same time work on few heads, so
// that the L2 holds the K and V of these heads (kTogether bytes).
struct Rows {
    static constexpr long long kTogether = 24 << 20;
    int first, head, batch;
    __device__ __forceinline__ Rows(int rows, int index) {
        const int tiles = (QUERIES + rows - 1) / rows;
        int tile = index % tiles, group = index / tiles;
        if (CAUSAL) {
            const int together = at_once(), begin = group / together * together, rest = BATCH * HEADS - begin;
            const int heads = rest < together ? rest : together, inside = index - begin * tiles;
            tile = tiles - 1 - inside / heads;
            group = begin + inside % heads;
        }
        first = tile * rows;
        head = group % HEADS;
        batch = group / HEADS;
    }
    // at_once returns the number of heads whose K and V together fit into the L2.
    __device__ __forceinline__ static int at_once() {
        const long long heads_kv = kTogether / (static_cast<long long>(sizeof(Element)) * KEYS * (WIDTH + WIDTH_V));
        return static_cast<int>(heads_kv < 1 ? 1 : heads_kv < BATCH * HEADS_KV ? heads_kv : BATCH * HEADS_KV) * (HEADS / HEADS_KV);
    }
    __device__ __forceinline__ long long group_kv() const { return static_cast<long long>(batch) * HEADS_KV + head / (HEADS / HEADS_KV); }
    __device__ __forceinline__ long long first_row() const { return (static_cast<long long>(batch) * HEADS + head) * QUERIES + first; }
    // met returns the number of keys to which the first `rows` queries attend.
    __device__ __forceinline__ int met(int rows) const { return CAUSAL && first + rows < KEYS ? first + rows : KEYS; }
};

// pack_weights packs softmax weights of 16 keys as an operand A.
__device__ __forceinline__ void pack_weights(unsigned (&a)[4], const float* left, const float* right) {
    a[0] = Pair<Element>::pack(left[0], left[1]), a[1] = Pair<Element>::pack(left[2], left[3]);
    a[2] = Pair<Element>::pack(right[0], right[1]), a[3] = Pair<Element>::pack(right[2], right[3]);
}

// Exponents are relative to the row's maximum so far. If no row's maximum grows, the warp does not rescale its sums.

struct OnlineSoftmax {
    // `largest` holds the maxima of the lane's two rows so far, `weights` the sums of the lane's own exponentials.
    float largest[2] = {negative_infinity(), negative_infinity()}, weights[2] = {};

    // weigh turns scores of 16 queries with a tile of keys into exponentials. `less` is the factor that scales down
    // earlier sums. weigh returns whether any sum of the warp must be scaled down.
    template <int Blocks>
    __device__ __forceinline__ bool weigh(float (&products)[Blocks][4], const Rows& rows, int row, int key, const Element* mask, float (&less)[2]) {
        constexpr bool masked = MASK_BATCH > 0;
        constexpr float scale = masked ? kLog2E : static_cast<float>(SCALE * 1.4426950408889634);  // of what the rows' largest is of
        const int lane = threadIdx.x % 32, query = rows.first + row + lane / 4, column = key + lane % 4 * 2;
        bool raised = false;
        if constexpr (masked) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const long long group = static_cast<long long>(MASK_BATCH > 1 ? rows.batch : 0) * MASK_HEADS + (MASK_HEADS > 1 ? rows.head : 0);
                const Element* const line = mask + (group * QUERIES + query + 8 * half) * KEYS;
#pragma unroll
                for (int n = 0; n < Blocks; ++n)
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        const int c = column + 8 * n + i;
                        float& product = products[n][2 * half + i];
                        product = product * static_cast<float>(SCALE) + (c < KEYS && query + 8 * half < QUERIES ? read_only(line + c) : 0.0f);
                    }
            }
        }
        if (key + 8 * Blocks > KEYS || (CAUSAL && key + 8 * Blocks > rows.first + row + 1)) {
#pragma unroll
            for (int n = 0; n < Blocks; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int c = column + 8 * n + i % 2;
                    if (c >= KEYS || (CAUSAL && c > query + i / 2 * 8)) products[n][i] = negative_infinity();
                }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float most = products[0][2 * half];
#pragma unroll
            for (int n = 0; n < Blocks; ++n) most = fmaxf(most, fmaxf(products[n][2 * half], products[n][2 * half + 1]));
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
            const float before = largest[half];
            const bool raises = most > before;
            raised |= raises;
            largest[half] = raises ? most : before;
            const float shift = largest[half] == negative_infinity() ? 0.0f : largest[half] * scale;  // nothing but minus infinity so far
            less[half] = raises ? power_of_two(before * scale - shift) : 1.0f;
            float total = 0;
#pragma unroll
            for (int n = 0; n < Blocks; ++n)
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    float& product = products[n][2 * half + i];
                    product = power_of_two(fmaf(product, scale, -shift));
                    total += product;
                }
            weights[half] = weights[half] * less[half] + total;
        }
        return __any_sync(0xffffffffu, raised);
    }

    // store stores the outputs of 16 queries. If rows are wide (kWhole), neighbouring lanes first exchange elements,
    // so that four lanes store a whole 32-byte sector.
    static constexpr bool kWhole = !CAUSAL && WIDTH_V >= 128;
    template <int Blocks>
    __device__ __forceinline__ void store(const float (&sums)[Blocks][4], const Rows& rows, int row, const AttentionPlain& plain, Element* y) const {
        static_assert(Blocks % 2 == 0 && WIDTH_V % 8 == 0, "blocks come in pairs, and are whole or not there");
        const int lane = threadIdx.x % 32, odd = lane % 2;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = weights[half];
            total += __shfl_xor_sync(0xffffffffu, total, 1);
            total += __shfl_xor_sync(0xffffffffu, total, 2);
            const float over = total == 0.0f ? 0.0f : 1.0f / total;
            const int line = row + lane / 4 + 8 * half;
            const bool there = rows.first + line < QUERIES;
            const long long first = (rows.first_row() + line) * WIDTH_V, to = first + lane % 4 * 2;
            float zeros = 0;
#pragma unroll
            for (int j = 0; j < Blocks; j += 2) {
                unsigned two[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const float left = sums[j + i][2 * half] * over, right = sums[j + i][2 * half + 1] * over;
                    zeros += (left + right) * 0.0f;
                    two[i] = Pair<Element>::pack(left, right);
                }
                if constexpr (kWhole) {
                    const unsigned other = __shfl_xor_sync(0xffffffffu, odd ? two[0] : two[1], 1);
                    const int column = 8 * (j + odd) + lane % 4 / 2 * 4;
                    if (there && column < WIDTH_V) *reinterpret_cast<uint2*>(y + first + column) = odd ? make_uint2(other, two[1]) : make_uint2(two[0], other);
                } else {
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        if (there && 8 * (j + i) < WIDTH_V) *reinterpret_cast<unsigned*>(y + to + 8 * (j + i)) = two[i];
                }
            }
            if (CAUSAL && there && zeros != 0.0f && is_finite(total))
#pragma unroll 1
                for (int i = 0; i < 2 * Blocks; ++i)
                    if (i / 2 * 8 + lane % 4 * 2 < WIDTH_V) y[to + i / 2 * 8 + i % 2] = plain(to + i / 2 * 8 + i % 2);
        }
    }
};
