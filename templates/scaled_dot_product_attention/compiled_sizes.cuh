// compiled_sizes.cuh: the sizes of the problem that a kernel is compiled for, as plain.cuh wants them.
#pragma once
#include "plain.cuh"

struct Sizes {
    long long batch = BATCH, queries = QUERIES, keys = KEYS;
    static constexpr long long heads = HEADS, width = WIDTH, heads_kv = HEADS_KV, width_v = WIDTH_V, mask_batch = MASK_BATCH, mask_heads = MASK_HEADS;
    static constexpr bool causal = CAUSAL;
    static constexpr double scale = SCALE;
};
