// element_mma.cuh: tensor-core multiplication (mma.sync) of 16-bit elements, or of floats as TF32.
#pragma once
#include "element.cuh"
#include "mma.cuh"

// multiply_elements adds A * B to d, where A is 16 x 16 for 16-bit elements and 16 x 8 for floats, and B has 8 columns.
__device__ __forceinline__ void multiply_elements(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (!kOf16Bits)
        mma_m16n8k8_tf32(d, a, b);
    else if constexpr (kOfBf16)
        mma_m16n8k16_bf16(d, a, b);
    else
        mma_m16n8k16_fp16(d, a, b);
}
