// compiled_sizes.cuh: the problem's sizes as compile-time constants, in a struct for plain.cuh.
#pragma once
#include "plain.cuh"

struct Sizes {
    long long batch = BATCH, queries = QUERIES, keys = KEYS;
    static constexpr long long heads = HEADS, width = WIDTH, heads_kv = HEADS_KV, width_v = WIDTH_V, mask_batch = MASK_BATCH, mask_heads = MASK_HEADS;
    static constexpr bool causal = CAUSAL;
    static constexpr double scale = SCALE;
};

struct AttentionPlain {
    const Element *q, *k, *v, *mask;
    __device__ __forceinline__ Element operator()(long long i) const { return average_of<float>(q, k, v, mask, Sizes(), i); }
};
