// element_mma.cuh: products of elements by mma.sync: 16-bit elements directly, floats in TF32.
#pragma once
#include "element.cuh"
#include "mma.cuh"

// multiply_elements adds a product to d: 16 x 16 by 16 x 8 elements of 16 bits, or 16 x 8 by 8 x 8 floats.
__device__ __forceinline__ void multiply_elements(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (!kOf16Bits)
        mma_m16n8k8_tf32(d, a, b);
    else if constexpr (kOfBf16)
        mma_m16n8k16_bf16(d, a, b);
    else
        mma_m16n8k16_fp16(d, a, b);
}
