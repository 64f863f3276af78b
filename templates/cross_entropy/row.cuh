// row.cuh: the class Row (row_state.cuh) for cross_entropy: the loss of a row for its label.
#include "limits.cuh"
#include "element.cuh"

struct Weights {
    const Element* x;
    const long long* target;  // the label of each row
    const Element* weight;    // the weight of each label; null means 1
    double smoothing;
    long long ignored, inner;
    // ask loads the row's label ahead, and then the element and the weight at the label.
    int asked = 0;
    long long label = 0;
    float own = 0.0f, weighs = 1.0f;

    __device__ __forceinline__ bool counts(long long length) const { return label != ignored && label >= 0 && label < length; }
    __device__ __forceinline__ void ask(long long row, long long length, int steps) {
        if (asked < 1) label = target[row];
        if (asked < 2 && steps == 2 && counts(length)) {
            own = to_float(x[(row / inner * length + label) * inner + row % inner]);
            if (weight) weighs = to_float(weight[label]);
        }
        asked = steps;
    }
};
#ifdef LABEL_SMOOTHING
constexpr bool kSmoothed = LABEL_SMOOTHING != 0;
#else
constexpr bool kSmoothed = true;  // it is known when the kernel runs
#endif
#define WEIGHTS {x, target, weight, LABEL_SMOOTHING, IGNORE_INDEX, INNER}
#define WEIGHTS_OF(s) {x, target, weight, (s).label_smoothing, (s).ignore_index, (s).inner}
#include "softmax_row.cuh"

template <class Real>
struct Row {
    static constexpr bool kMaps = false;
    Softmax<Real, true> exponentials;
    Real all;  // sum of all elements, for smoothing; finally the loss

    __device__ __forceinline__ void start() { exponentials.start(), all = 0; }
    template <int N>
    __device__ __forceinline__ void join(const float (&v)[N], long long j, int step, int side = 1) {
        exponentials.join(v, j, step, side);
#pragma unroll
        for (int e = 0; kSmoothed && e < N; ++e) all += v[e];
    }
    __device__ __forceinline__ void merge(const Row& other) { exponentials.merge(other.exponentials), all += other.all; }
    template <class Team>
    __device__ __forceinline__ void meet(const Team& team) {
        exponentials.meet(team);
        if (kSmoothed) all = team.sum(all);
    }
    __device__ __forceinline__ void finish(const Seen& seen, Weights& weights) {
        weights.ask(seen.row, seen.length, 2);
        if (!weights.counts(seen.length)) {
            all = weights.label == weights.ignored ? 0.0f : NAN;
            return;
        }
        exponentials.finish(seen, weights);
        const Real until = exponentials.largest;  // the logarithm of the sum of exponentials
        const Real own = (until - weights.own) * weights.weighs;
        const Real smoothing = weights.smoothing;
        all = smoothing == 0 ? own : (1 - smoothing) * own + smoothing * (until - all / seen.length);
    }
    __device__ __forceinline__ Real give(float, long long, const Weights&) const { return all; }
};

// counted returns the weight of a row's loss in the mean of all losses.
__device__ __forceinline__ float counted(const Weights& weights, long long row) {
    const long long label = weights.target[row];
    return label == weights.ignored ? 0.0f : weights.weight ? to_float(weights.weight[label]) : 1.0f;
}
