// row.cuh: the class Row (row_state.cuh) for triplet_margin_loss: the distances of an anchor row to a positive and to
// a negative row.
#include "element.cuh"

struct Weights {
    double margin, p, eps;
    bool swap;
};
#define WEIGHTS {MARGIN, P, EPS, SWAP}
#define WEIGHTS_OF(s) {(s).margin, (s).p, (s).eps, (s).swap != 0}

// Distance is the p-norm of differences; p = 0 stands for the maximum norm.
template <class Real>
struct Distance {
    Real sum, largest;  // the compiler knows which of them is used

    __device__ __forceinline__ void start() { sum = largest = 0; }
    // join adds eps to a difference before it takes the absolute value, as PyTorch does.
    __device__ __forceinline__ void join(float x, float y, const Weights& weights) {
        const Real apart = fabs(Real(x) - Real(y) + Real(weights.eps));
        if (weights.p == 0)
            merge({0, apart});
        else
            sum += weights.p == 1 ? apart : weights.p == 2 ? apart * apart : pow(apart, Real(weights.p));
    }
    __device__ __forceinline__ void merge(const Distance& other) {
        sum += other.sum;
        if (other.largest > largest || other.largest != other.largest) largest = other.largest;
    }
    __device__ __forceinline__ Real whole(const Weights& weights) const {
        return weights.p == 0 ? largest : weights.p == 1 ? sum : weights.p == 2 ? sqrt(sum) : pow(sum, 1 / Real(weights.p));
    }
};

template <class Real>
struct Row {
    static constexpr bool kMaps = false;
    Distance<Real> positive, negative, between;  // between the positive and the negative row
    Real loss;

    __device__ __forceinline__ void start() { positive.start(), negative.start(), between.start(), loss = 0; }
    template <int N>
    __device__ __forceinline__ void join(const float (&a)[N], const float (&p)[N], const float (&n)[N], const Weights& weights) {
#pragma unroll
        for (int e = 0; e < N; ++e) {
            positive.join(a[e], p[e], weights);
            negative.join(a[e], n[e], weights);
            if (weights.swap) between.join(p[e], n[e], weights);
        }
    }
    __device__ __forceinline__ void merge(const Row& other) {
        positive.merge(other.positive), negative.merge(other.negative), between.merge(other.between);
    }
    __device__ __forceinline__ void finish(const Seen&, const Weights& weights) {
        Real far = negative.whole(weights);
        const Real swapped = weights.swap ? between.whole(weights) : far;
        if (swapped < far || swapped != swapped) far = swapped;
        const Real beyond = positive.whole(weights) - far + Real(weights.margin);
        loss = beyond < 0 ? 0 : beyond;  // NaN stays
    }
    __device__ __forceinline__ Real give(float, long long, const Weights&) const { return loss; }
};

// counted returns the weight of a row's loss in the mean of all losses.
__device__ __forceinline__ float counted(const Weights&, long long) { return 1.0f; }
