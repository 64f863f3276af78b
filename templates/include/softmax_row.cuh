// softmax_row.cuh: softmax of a row. The maximum so far is subtracted from all exponents; whenever a larger element
// comes, the sum of exponentials is rescaled.
#pragma once
#include "exponential.cuh"
#include "limits.cuh"

__device__ __forceinline__ float exponential(float x) { return power_of_two(x * kLog2E); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }

template <class Real, bool Logarithm>
struct Softmax {
    static constexpr bool kMaps = true;
    Real largest, sum;  // the largest is never NaN; NaNs are in the sum

    // shift returns what is subtracted from exponents: the largest element, or 0 while all elements are minus
    // infinity.
    __device__ __forceinline__ Real shift() const { return largest == negative_infinity() ? Real(0) : largest; }

    __device__ __forceinline__ void start() { largest = negative_infinity(), sum = 0; }
    __device__ __forceinline__ void raise(Real to) {
        const Real before = largest;
        largest = to > largest ? to : largest;
        sum *= exponential(before - shift());
    }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long, int, int = 1) {
        float most = v[0];
#pragma unroll
        for (int e = 1; e < N; ++e) most = fmaxf(most, v[e]);
        raise(most);
#pragma unroll
        for (int e = 0; e < N; ++e) sum += exponential(v[e] - shift());
    }
    __device__ __forceinline__ void merge(const Softmax& other) {
        raise(other.largest);
        sum += other.sum * exponential(other.largest - shift());
    }
    template <class Team>
    __device__ __forceinline__ void meet(const Team& team) {
        raise(team.most(largest));
        sum = team.sum(sum);
    }
    __device__ __forceinline__ void finish(const Seen&, const Weights&) {
        if (Logarithm) largest += log(sum);
        sum = 1 / sum;
    }
    __device__ __forceinline__ Real give(float x, long long, const Weights&) const {
        return Logarithm ? x - largest : exponential(x - largest) * sum;
    }
};
