// norm_row.cuh: a Row (row_state.cuh) that divides elements by their root mean square; with `Centered` it first
// subtracts the mean. A thread sums differences from the row's first element and their squares, since sums of plain
// squares would cancel if the mean is large. After 64 elements, and whenever the number of elements doubles, the
// thread subtracts its running mean instead of the first element. Threads' means and squared deviations are merged by
// the formula of Chan, Golub and LeVeque.
#pragma once
#include "element.cuh"

struct Weights {
    const Element *weight, *bias;  // null if there are none
    double eps;
    // Row r uses the weights of channel group r % groups; `plane` consecutive elements share a weight.
    long long groups = 1, plane = 1;
    Element *running_mean = nullptr, *running_var = nullptr;  // running statistics of training
    double momentum = 0;
    bool training = true;
};

template <class Real, bool Centered>
struct Norm {
    static constexpr bool kMaps = true;
    Real count, mean, rest, squares;  // `mean` is one element until settle() is called; `rest` sums the distances to it

    __device__ __forceinline__ void start() { count = mean = rest = squares = 0; }
    template <int Count>
    __device__ __forceinline__ void join(const float (&v)[Count], long long, int, int = 1) {
        if (Centered && count == 0) mean = v[0];
        Real some = 0;
#pragma unroll
        for (int e = 0; e < Count; ++e) {
            const Real apart = v[e] - mean;
            some += apart;
            squares += apart * apart;
        }
        rest += some;
        const Real before = count;
        count += Count;
        if (Centered && count >= 64 && doubled(before, count)) settle();
    }
    // doubled tells whether the number of elements passed a power of two when it grew from `before` to `now`.
    __device__ __forceinline__ static bool doubled(float before, float now) { return (__float_as_uint(before) ^ __float_as_uint(now)) >> 23 != 0; }
    __device__ __forceinline__ void settle() {
        if (!Centered || rest == 0) return;
        const Real apart = rest / count, about = squares - rest * apart;
        mean += apart + (apart - apart);  // NaN if an element is infinite, wherever it is
        squares = about < 0 ? Real(0) : about;
        rest = 0;
    }
    __device__ __forceinline__ void merge(Norm other) {
        settle();
        other.settle();
        squares += other.squares;
        if (!Centered || other.count == 0) return;
        const Real all = count + other.count, apart = other.mean - mean, part = other.count / all;
        squares += apart * apart * count * part;
        mean += apart * part;
        count = all;
    }
    // meet merges the partial results of all threads of a team at once, with a single division.
    template <class Team>
    __device__ __forceinline__ void meet(const Team& team) {
        settle();
        if (Centered) {
            const Real all = team.sum(count), middle = all > 0 ? team.sum(count * mean) / all : Real(0), apart = mean - middle;
            if (count > 0) squares += count * apart * apart;
            count = all, mean = middle;
        }
        squares = team.sum(squares);
    }
    __device__ __forceinline__ void finish(const Seen& seen, Weights& weights) {
        settle();
        squares = 1 / sqrt(squares / seen.length + Real(weights.eps));
        const long long first = seen.row % weights.groups * (seen.length / weights.plane);
        if (weights.weight) weights.weight += first;
        if (weights.bias) weights.bias += first;
    }
    __device__ __forceinline__ Real give(float x, long long j, const Weights& weights) const {
        const Real y = (x - mean) * squares;
        j /= weights.plane;
        return (weights.weight ? y * to_float(weights.weight[j]) : y) + (weights.bias ? to_float(weights.bias[j]) : 0.0f);
    }
    // give_vector computes the outputs for Count elements from j on. The elements either have contiguous weights or
    // share one weight.
    template <int Count>
    __device__ __forceinline__ void give_vector(float (&y)[Count], const float (&x)[Count], long long j, const Weights& weights) const {
        float weight[Count], bias[Count];
        load_weights(weight, weights.weight, j, weights.plane);
        load_weights(bias, weights.bias, j, weights.plane);
#pragma unroll
        for (int e = 0; e < Count; ++e) {
            y[e] = (x[e] - mean) * squares;
            y[e] = (weights.weight ? y[e] * weight[e] : y[e]) + (weights.bias ? bias[e] : 0.0f);
        }
    }
    template <int Count>
    __device__ __forceinline__ static void load_weights(float (&to)[Count], const Element* from, long long j, long long plane) {
        if (from && plane == 1) return load_side_by_side(to, from + j);
        const bool one = plane % Count == 0;  // all elements belong to one channel
#pragma unroll
        for (int e = 0; from && e < Count; ++e) to[e] = one && e > 0 ? to[0] : read_only(from + static_cast<unsigned long long>(j + e) / plane);
    }
    // No thread writes weights, so load_side_by_side loads them through the read-only cache.
    template <int Count>
    __device__ __forceinline__ static void load_side_by_side(float (&to)[Count], const Element* from) {
        constexpr int kWords = Count * sizeof(Element) / 4;
        if constexpr (kWords == 0) {
            to[0] = read_only(from);
        } else {
            typedef typename FloatVector<kWords>::type Vector;
            float words[kWords];
            unpack_vector(words, __ldg(reinterpret_cast<const Vector*>(from)));
            if constexpr (kOf16Bits)
                unpack_pairs<Element, kWords>(to, words);
            else
#pragma unroll
                for (int e = 0; e < Count; ++e) to[e] = words[e];
        }
    }
};
