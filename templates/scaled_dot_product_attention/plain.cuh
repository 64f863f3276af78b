// plain.cuh: attention computed by its definition, for the reference, the general kernel and direct.cu; sums have the
// type Sum.
#pragma once
#include "element.cuh"
#include "limits.cuh"

__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }

template <bool First, class A, class B>
struct Chosen {
    typedef A type;
};
template <class A, class B>
struct Chosen<false, A, B> {
    typedef B type;
};

// Query is one query, and the keys and values that it attends to.
template <class Sizes>
struct Query {
    const Element *q, *k, *v, *mask;  // mask is null if there is none
    long long met;                    // number of keys, from the first one on
    __device__ __forceinline__ Query(const Element* queries, const Element* keys, const Element* values, const Element* masks, const Sizes& s, long long row)
        : q(queries + row * s.width), mask(nullptr) {
        const long long query = row % s.queries, head = row / s.queries % s.heads, batch = row / s.queries / s.heads;
        const long long shared = batch * s.heads_kv + head * s.heads_kv / s.heads;
        k = keys + shared * s.keys * s.width;
        v = values + shared * s.keys * s.width_v;
        met = s.causal && query + 1 < s.keys ? query + 1 : s.keys;
        if (s.mask_batch) mask = masks + ((batch % s.mask_batch * s.mask_heads + head % s.mask_heads) * s.queries + query) * s.keys;
    }
    // part returns every Lanes-th term of the dot product of a query and a key, from `lane` on, summed in groups of
    // 16 terms to keep rounding errors small.
    template <class Sum, int Lanes>
    __device__ __forceinline__ Sum part(const Sizes& s, long long key, int lane) const {
        // Products of 16-bit elements are exact in float.
        typedef typename Chosen<kOf16Bits, float, Sum>::type Term;
        const Element* const with = k + key * s.width;
        Sum total = 0;
        for (long long first = lane; first < s.width; first += 16 * Lanes) {
            Term sum = 0;
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const long long at = first + i * Lanes;
                if (at < s.width) sum += Term(to_float(q[at])) * Term(to_float(with[at]));
            }
            total += sum;
        }
        return total;
    }
    // product returns the scaled and masked score of a query and a key.
    template <class Sum>
    __device__ __forceinline__ Sum product(const Sizes& s, long long key, Sum total) const {
        return total * Sum(s.scale) + (mask ? Sum(to_float(mask[key])) : Sum(0));
    }
};

// Averages are Count elements of a query's output: averages of V, weighted by the softmax, or zero if all scores are
// minus infinity.
template <class Sum, int Count>
struct Averages {
    Sum largest = negative_infinity(), weights = 0, values[Count] = {};

    __device__ __forceinline__ void raise(Sum to) {
        if (!(to > largest)) return;
        const Sum less = exponential(largest - to);
        largest = to, weights *= less;
        for (Sum& value : values) value *= less;
    }
    __device__ __forceinline__ Sum weight(Sum product) const { return product == negative_infinity() ? Sum(0) : exponential(product - largest); }
    __device__ __forceinline__ Element give(int i) const { return from_float<Element>(weights == 0 ? 0.0f : static_cast<float>(values[i] / weights)); }
};

template <class Sum, class Sizes>
__device__ __forceinline__ Element average_of(const Element* q, const Element* k, const Element* v, const Element* mask, const Sizes& s, long long i) {
    const Query<Sizes> query(q, k, v, mask, s, i / s.width_v);
    Averages<Sum, 1> average;
    for (long long key = 0; key < query.met; ++key) {
        const Sum product = query.product(s, key, query.template part<Sum, 1>(s, key, 0));
        average.raise(product);
        const Sum weight = average.weight(product);
        average.weights += weight;
        average.values[0] += weight * to_float(query.v[key * s.width_v + i % s.width_v]);
    }
    return average.give(0);
}

// averages_of computes `Each` contiguous outputs per thread, where Each is 4 if rows are wide, and otherwise 1. All
// threads of a block must call averages_of. For each query, the block computes the scores of Threads keys at a time,
// with eight lanes per key.
template <int Threads, class Sum, class Sizes>
__device__ __forceinline__ void averages_of(const Element* q, const Element* k, const Element* v, const Element* mask, const Sizes& s, Element* y) {
    constexpr int Each = Sizes::width_v >= 4 * Threads ? 4 : 1; // products of a wide row are computed once
    if (blockIdx.x % Each) return;
    __shared__ Sum products[Threads], largest[Threads / 32];
    const long long first = static_cast<long long>(blockIdx.x) * Threads, all = s.batch * s.heads * s.queries * s.width_v;
    const long long end = first + Each * Threads < all ? first + Each * Threads : all;
    const int t = threadIdx.x;
    for (long long row = first / s.width_v; row * s.width_v < end; ++row) {
        const Query<Sizes> query(q, k, v, mask, s, row);
        Averages<Sum, Each> averages;
        for (long long tile = 0; tile < query.met; tile += Threads) {
            const int keys = query.met - tile < Threads ? static_cast<int>(query.met - tile) : Threads;
            Sum most = negative_infinity();
            for (int j = t / 8; j < Threads; j += Threads / 8) {
                Sum total = j < keys ? query.template part<Sum, 8>(s, tile + j, t % 8) : Sum(0);
                for (int lanes = 4; lanes > 0; lanes /= 2) total += __shfl_xor_sync(0xffffffffu, total, lanes);
                const Sum product = j < keys ? query.product(s, tile + j, total) : Sum(negative_infinity());
                if (t % 8 == 0) products[j] = product;
                most = product > most ? product : most;
            }
            for (int lanes = 16; lanes > 4; lanes /= 2) {
                const Sum other = __shfl_xor_sync(0xffffffffu, most, lanes);
                most = other > most ? other : most;
            }
            if (t % 32 == 0) largest[t / 32] = most;
            __syncthreads();
            for (int warp = 0; warp < Threads / 32; ++warp) averages.raise(largest[warp]);
            products[t] = averages.weight(products[t]);
            __syncthreads();
            const Element* const values = query.v + tile * s.width_v;
#pragma unroll
            for (int e = 0; e < Each; ++e) {
                const long long column = first + e * Threads + t - row * s.width_v;
                if (column < 0 || column >= s.width_v) continue;
#pragma unroll 8
                for (int j = 0; j < keys; ++j) averages.values[e] += products[j] * to_float(values[j * s.width_v + column]);
            }
            for (int j = 0; j < keys; ++j) averages.weights += products[j];
            __syncthreads();
        }
#pragma unroll
        for (int e = 0; e < Each; ++e) {
            const long long i = first + e * Threads + t;
            if (i < all && i / s.width_v == row) y[i] = averages.give(e);
        }
    }
}
