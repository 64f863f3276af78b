// plain.cuh: losses of triplets by their definition, in double.
#pragma once
#include "limits.cuh"
#include "element.cuh"

// Distance is the p-norm of what is joined; with p = 0 the largest magnitude.
struct Distance {
    double all = 0;

    __device__ void join(double apart, long long p) { merge(p == 2 ? apart * apart : fabs(apart), p); }
    __device__ void merge(double other, long long p) { all = p ? all + other : other > all || other != other ? other : all; }
    __device__ double length(long long p) const { return p == 2 ? sqrt(all) : all; }
};

// Triplet is the anchor's distance from the positive, its distance from the negative, and that of these two.
struct Triplet {
    Distance sides[3];

    template <class Sizes>
    __device__ void join(const Element* anchor, const Element* positive, const Element* negative, const Sizes& s, long long at) {
        const double a = to_float(anchor[at]), b = to_float(positive[at]), c = to_float(negative[at]);
        sides[0].join(a - b + s.eps, s.p), sides[1].join(a - c + s.eps, s.p), sides[2].join(b - c + s.eps, s.p);
    }
    template <class Sizes>
    __device__ double loss(const Sizes& s) const {
        double far = sides[1].length(s.p);
        const double across = sides[2].length(s.p);
        if (s.swap && (across < far || across != across)) far = across;
        const double loss = s.margin + sides[0].length(s.p) - far;
        return loss < 0 ? 0 : loss;
    }
};
