// row.cuh: what triplet_margin_loss makes of three rows: the anchor's distances from the other two, and theirs.
#include "limits.cuh"
#include "element.cuh"

struct Weights {};
#define WEIGHTS {}

// counted is what a row counts in the mean.
__device__ __forceinline__ float counted(const Weights&, long long) { return 1.0f; }

// both joins two sums, or the largest magnitudes of two.
template <class Real>
__device__ __forceinline__ Real both(Real a, Real b) {
    return P != 0 ? a + b : b > a || b != b ? b : a;
}

template <class Real>
struct Row {
    static constexpr bool kMaps = false;
    Real near, far, across;  // sums of a distance each; in the end the loss, in the first

    __device__ __forceinline__ void start() { near = far = across = 0; }
    __device__ __forceinline__ void join(float anchor, float positive, float negative) {
        merge({magnitude(anchor - positive), magnitude(anchor - negative), SWAP ? magnitude(positive - negative) : 0});
    }
    __device__ __forceinline__ static Real magnitude(Real apart) {
        const Real x = fabsf(apart + static_cast<Real>(EPS));
        return P == 2 ? x * x : x;
    }
    __device__ __forceinline__ void merge(const Row& other) {
        near = both(near, other.near), far = both(far, other.far);
        if (SWAP) across = both(across, other.across);
    }
    __device__ __forceinline__ void finish(const Seen&, const Weights&) {
        if (SWAP && (across < far || across != across)) far = across;
        near = P == 2 ? sqrtf(near) - sqrtf(far) : near - far;
        near += static_cast<Real>(MARGIN);
        if (near < 0) near = 0;
    }
    __device__ __forceinline__ Real give(float, long long, const Weights&) const { return near; }
};
