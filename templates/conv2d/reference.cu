// conv2d, reference: one thread an output, added up in double.
//
// In math mode tf32 both factors are rounded to TF32 first. Their product has 22
// significant bits, so that sums in double are exact for all that matters.
#include "problem.cuh"
#include "factor.cuh"

extern "C" __global__ void conv2d_reference(const float* __restrict__ x, const float* __restrict__ weight,
                                            const float* __restrict__ bias, float* __restrict__ y) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)N * C_OUT * H_OUT * W_OUT) return;
    const long long column = i % W_OUT, row = i / W_OUT % H_OUT, plane = i / W_OUT / H_OUT;
    const long long c_out = plane % C_OUT, image = plane / C_OUT;
    const long long first_channel = c_out / C_OUT_GROUP * C_GROUP;

    double sum = BIAS ? bias[c_out] : 0.0;
    for (long long c = 0; c < C_GROUP; ++c)
        for (long long ky = 0; ky < KERNEL_H; ++ky) {
            const long long iy = row * STRIDE_H - PADDING_H + ky * DILATION_H;
            if (iy < 0 || iy >= H) continue;
            for (long long kx = 0; kx < KERNEL_W; ++kx) {
                const long long ix = column * STRIDE_W - PADDING_W + kx * DILATION_W;
                if (ix < 0 || ix >= W) continue;
                const float pixel = x[((image * C + first_channel + c) * H + iy) * W + ix];
                const float tap = weight[((c_out * C_GROUP + c) * KERNEL_H + ky) * KERNEL_W + kx];
                sum += (double)factor(pixel) * (double)factor(tap);
            }
        }
    y[i] = (float)sum;
}
