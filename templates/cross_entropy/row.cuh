// row.cuh: what cross_entropy makes of a row: the loss of its label.
#include "limits.cuh"
#include "element.cuh"

struct Weights {
    const Element* x;
    const long long* target;  // a row's label
    const Element* weight;    // a label's; null: 1
    double smoothing;
    long long ignored, inner;
};
#define WEIGHTS {x, target, weight, LABEL_SMOOTHING, IGNORE_INDEX, INNER}
#define WEIGHTS_OF(s) {x, target, weight, (s).label_smoothing, (s).ignore_index, (s).inner}
#include "softmax_row.cuh"

template <class Real>
struct Row {
    static constexpr bool kMaps = false;
    Softmax<Real, true> exponentials;
    Real all;  // elements added up; in the end the loss

    __device__ __forceinline__ void start() { exponentials.start(), all = 0; }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long j, int step) {
        exponentials.join(v, j, step);
#pragma unroll
        for (int e = 0; e < N; ++e) all += v[e];
    }
    __device__ __forceinline__ void merge(const Row& other) { exponentials.merge(other.exponentials), all += other.all; }
    __device__ __forceinline__ void finish(const Seen& seen, const Weights& weights) {
        const long long label = weights.target[seen.row];
        if (label == weights.ignored || label < 0 || label >= seen.length) {
            all = label == weights.ignored ? 0.0f : NAN;
            return;
        }
        exponentials.finish(seen, weights);
        const Real until = exponentials.largest;  // the logarithm of the sum of exponentials
        const long long at = (seen.row / weights.inner * seen.length + label) * weights.inner + seen.row % weights.inner;
        const Real own = (until - to_float(weights.x[at])) * (weights.weight ? to_float(weights.weight[label]) : 1.0f);
        const Real smoothing = weights.smoothing;
        all = smoothing == 0 ? own : (1 - smoothing) * own + smoothing * (until - all / seen.length);
    }
    __device__ __forceinline__ Real give(float, long long, const Weights&) const { return all; }
};

// counted is what a row counts in the mean.
__device__ __forceinline__ float counted(const Weights& weights, long long row) {
    const long long label = weights.target[row];
    return label == weights.ignored ? 0.0f : weights.weight ? to_float(weights.weight[label]) : 1.0f;
}
