// activations.cuh: the functions that users' expressions may call (the chain of an elementwise operator, an epilogue):
// PyTorch's activations, in float and by PyTorch's formulas, so that NaNs and infinities come out as in PyTorch.
#pragma once
#include "exponential.cuh"

struct Activations {
#define AUTOTUNE_FUNCTION static __device__ __forceinline__ float
    AUTOTUNE_FUNCTION max(float x, float y) { return x > y || x != x ? x : y; }  // NaN if x or y is NaN
    AUTOTUNE_FUNCTION min(float x, float y) { return x < y || x != x ? x : y; }
    AUTOTUNE_FUNCTION clamp(float x, float low, float high) { return min(max(x, low), high); }
    AUTOTUNE_FUNCTION abs(float x) { return fabsf(x); }
    AUTOTUNE_FUNCTION exp(float x) { return expf(x); }
    AUTOTUNE_FUNCTION expm1(float x) { return expm1f(x); }
    AUTOTUNE_FUNCTION log(float x) { return logf(x); }
    AUTOTUNE_FUNCTION log1p(float x) { return log1pf(x); }
    AUTOTUNE_FUNCTION sqrt(float x) { return sqrtf(x); }
    AUTOTUNE_FUNCTION erf(float x) { return erff(x); }
    AUTOTUNE_FUNCTION sin(float x) { return sinf(x); }
    AUTOTUNE_FUNCTION cos(float x) { return cosf(x); }
    AUTOTUNE_FUNCTION tanh(float x) { return tanhf(x); }
    AUTOTUNE_FUNCTION square(float x) { return x * x; }
    // pow with a constant exponent is resolved at compile time.
    AUTOTUNE_FUNCTION pow(float x, float y) { return y == 2.0f ? x * x : y == 3.0f ? x * x * x : powf(x, y); }

    AUTOTUNE_FUNCTION relu(float x) { return x < 0.0f ? 0.0f : x; }
    AUTOTUNE_FUNCTION relu6(float x) { return clamp(x, 0.0f, 6.0f); }
    AUTOTUNE_FUNCTION leaky_relu(float x, float slope = 0.01f) { return x > 0.0f ? x : x * slope; }
    AUTOTUNE_FUNCTION sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
    AUTOTUNE_FUNCTION silu(float x) { return x / (1.0f + expf(-x)); }
    AUTOTUNE_FUNCTION swish(float x) { return silu(x); }
    // gelu computes x times the cumulative normal distribution. The tail of the distribution is 2 to the power of a
    // polynomial in |x|, fitted to be as exact as PyTorch's formula with erf (absolute error 4e-7), and faster. For
    // negative x, no digits cancel in this formula.
    AUTOTUNE_FUNCTION gelu(float x) {
        const float a = fabsf(x);
        float p = -1.473523e-6f;
        p = fmaf(p, a, 2.3859726e-5f);
        p = fmaf(p, a, -1.1653019e-4f);
        p = fmaf(p, a, -2.9433228e-4f);
        p = fmaf(p, a, 7.2532375e-3f);
        p = fmaf(p, a, -5.2615087e-2f);
        p = fmaf(p, a, -0.45917386f);
        p = fmaf(p, a, -1.1511085f);
        const float tail = power_of_two(fmaf(p, a, -1.0f));
        return x * (x > 0.0f ? 1.0f - tail : tail);
    }
    AUTOTUNE_FUNCTION gelu_tanh(float x) {
        return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    }
    AUTOTUNE_FUNCTION min_gpt_new_gelu(float x) { return gelu_tanh(x); }
    AUTOTUNE_FUNCTION elu(float x, float alpha = 1.0f) { return x <= 0.0f ? alpha * expm1f(x) : x; }
    AUTOTUNE_FUNCTION selu(float x) { return 1.05070099f * elu(x, 1.67326324f); }
    AUTOTUNE_FUNCTION hardsigmoid(float x) { return relu6(x + 3.0f) * 0.16666667f; }
    AUTOTUNE_FUNCTION hardswish(float x) { return x * relu6(x + 3.0f) * 0.16666667f; }
    AUTOTUNE_FUNCTION hardtanh(float x, float low = -1.0f, float high = 1.0f) { return clamp(x, low, high); }
    AUTOTUNE_FUNCTION softplus(float x, float beta = 1.0f, float threshold = 20.0f) {
        return x * beta > threshold ? x : log1pf(expf(x * beta)) / beta;
    }
    AUTOTUNE_FUNCTION logsigmoid(float x) { return min(x, 0.0f) - log1pf(expf(-fabsf(x))); }
    AUTOTUNE_FUNCTION softsign(float x) { return x / (1.0f + fabsf(x)); }
    // mish uses tanh(log(1 + e)) = e*(e + 2) / (e*(e + 2) + 2) with e = exp(x). For x above 20 the quotient rounds to 1.
    AUTOTUNE_FUNCTION mish(float x) {
        const float e = expf(x), n = e * (e + 2.0f);
        return x > 20.0f ? x : x * __fdividef(n, n + 2.0f);
    }

    // Functions of losses: the distance to a target, and the terms of a divergence.
    AUTOTUNE_FUNCTION smooth_l1(float x, float beta = 1.0f) { return fabsf(x) < beta ? 0.5f * x * x / beta : fabsf(x) - 0.5f * beta; }
    AUTOTUNE_FUNCTION huber(float x, float delta = 1.0f) { return fabsf(x) <= delta ? 0.5f * x * x : delta * (fabsf(x) - 0.5f * delta); }
    AUTOTUNE_FUNCTION xlogy(float x, float y) { return x == 0.0f && y == y ? 0.0f : x * logf(y); }
#undef AUTOTUNE_FUNCTION
};
