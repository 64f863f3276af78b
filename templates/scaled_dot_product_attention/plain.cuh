// plain.cuh: attention as its definition says, which the reference, the general kernel and direct.cu
// share. A Sizes has the problem's sizes as members; sums are of type Sum.
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

// Query is a row of the output's: what it meets.
template <class Sizes>
struct Query {
    const Element *q, *k, *v, *mask;  // mask is null where there is none
    long long met;                    // keys, from the first on
    __device__ __forceinline__ Query(const Element* queries, const Element* keys, const Element* values, const Element* masks, const Sizes& s, long long row)
        : q(queries + row * s.width), mask(nullptr) {
        const long long query = row % s.queries, head = row / s.queries % s.heads, batch = row / s.queries / s.heads;
        const long long shared = batch * s.heads_kv + head * s.heads_kv / s.heads;
        k = keys + shared * s.keys * s.width;
        v = values + shared * s.keys * s.width_v;
        met = s.causal && query + 1 < s.keys ? query + 1 : s.keys;
        if (s.mask_batch) mask = masks + ((batch % s.mask_batch * s.mask_heads + head % s.mask_heads) * s.queries + query) * s.keys;
    }
    // part is every Lanes-th term of a query times a key, from `lane` on. Sums of sums keep its error small.
    template <class Sum, int Lanes>
    __device__ __forceinline__ Sum part(const Sizes& s, long long key, int lane) const {
        // Products of 16 bits are exact in float, and sums of a few nearly so.
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
    // product is what the softmax is of.
    template <class Sum>
    __device__ __forceinline__ Sum product(const Sizes& s, long long key, Sum total) const {
        return total * Sum(s.scale) + (mask ? Sum(to_float(mask[key])) : Sum(0));
    }
};

// Average is of values by exponentials of the distance to the largest product so far. Without any
// product but minus infinity it is zero.
template <class Sum>
struct Average {
    Sum largest = negative_infinity(), weights = 0, values = 0;

    __device__ __forceinline__ void raise(Sum to) {
        if (!(to > largest)) return;
        const Sum less = exponential(largest - to);
        largest = to, weights *= less, values *= less;
    }
    __device__ __forceinline__ Sum weight(Sum product) const { return product == negative_infinity() ? Sum(0) : exponential(product - largest); }
    __device__ __forceinline__ void join(Sum weight, float value) { weights += weight, values += weight * value; }
    __device__ __forceinline__ Element give() const { return from_float<Element>(weights == 0 ? 0.0f : static_cast<float>(values / weights)); }
};

// average_of gives output element i.
template <class Sum, class Sizes>
__device__ __forceinline__ Element average_of(const Element* q, const Element* k, const Element* v, const Element* mask, const Sizes& s, long long i) {
    const Query<Sizes> query(q, k, v, mask, s, i / s.width_v);
    Average<Sum> average;
    for (long long key = 0; key < query.met; ++key) {
        const Sum product = query.product(s, key, query.template part<Sum, 1>(s, key, 0));
        average.raise(product);
        average.join(average.weight(product), to_float(query.v[key * s.width_v + i % s.width_v]));
    }
    return average.give();
}

// averages_of gives as many outputs side by side as the block has threads. All of them call it. Row by
// row, they compute the products with as many keys together, eight lanes a key.
template <int Threads, class Sum, class Sizes>
__device__ __forceinline__ void averages_of(const Element* q, const Element* k, const Element* v, const Element* mask, const Sizes& s, Element* y) {
    __shared__ Sum products[Threads], largest[Threads / 32];
    const long long first = static_cast<long long>(blockIdx.x) * Threads, all = s.batch * s.heads * s.queries * s.width_v;
    const long long end = first + Threads < all ? first + Threads : all, i = first + threadIdx.x;
    for (long long row = first / s.width_v; row * s.width_v < end; ++row) {
        const Query<Sizes> query(q, k, v, mask, s, row);
        const bool mine = i < all && i / s.width_v == row;
        Average<Sum> average;
        for (long long tile = 0; tile < query.met; tile += Threads) {
            const int keys = query.met - tile < Threads ? static_cast<int>(query.met - tile) : Threads, t = threadIdx.x;
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
            for (int warp = 0; warp < Threads / 32; ++warp) average.raise(largest[warp]);
            products[t] = average.weight(products[t]);
            __syncthreads();
            if (mine)
#pragma unroll 8
                for (int j = 0; j < keys; ++j) average.join(products[j], to_float(query.v[(tile + j) * s.width_v + i % s.width_v]));
            __syncthreads();
        }
        if (mine) y[i] = average.give();
    }
}
