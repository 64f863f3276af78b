// row.cuh: the class Row (row_state.cuh) for batch_norm. In training, a row is a channel of all images. In evaluation
// mode, a row is a channel of one image, with given mean and variance.
#include "norm_row.cuh"
#define WEIGHTS EPS, C, LENGTH, running_mean, running_var, MOMENTUM, TRAINING
#define WEIGHTS_OF(s) (s).eps, (s).c, (s).length, running_mean, running_var, (s).momentum, (s).training != 0
#define CHUNK_OF(s) (s).chunk
#define ANSWER_AXES C, HW
#define AXES_OF(s) (s).c, (s).hw
#ifdef TRAINING
#define GIVEN !TRAINING
#endif

template <class Real>
struct Row : Norm<Real, true> {
    __device__ __forceinline__ void finish(const Seen& seen, Weights& weights) {
        const long long channel = seen.row % weights.groups;
        this->settle();
        if (!weights.training) {
            this->mean = to_float(weights.running_mean[channel]);
            this->squares = to_float(weights.running_var[channel]) * Real(seen.length);
        } else if (seen.first) {
            renew(weights.running_mean[channel], this->mean, weights.momentum);
            renew(weights.running_var[channel], this->squares / (seen.length - 1), weights.momentum);
        }
        Norm<Real, true>::finish(seen, weights);
    }
    __device__ __forceinline__ static void renew(Element& running, Real batch, Real momentum) {
        running = from_float<Element>(static_cast<float>((1 - momentum) * to_float(running) + momentum * batch));
    }
};
