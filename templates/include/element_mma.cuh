// element_mma.cuh: products of elements by mma.sync: of a type of 16 bits as they are, of floats in TF32.
#pragma once
#include "element.cuh"
#include "mma.cuh"

// multiply_elements adds a product of 16 x 16, of floats 16 x 8, by 8 columns to d.
__device__ __forceinline__ void multiply_elements(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (!kOf16Bits)
        mma_m16n8k8_tf32(d, a, b);
    else if constexpr (kOfBf16)
        mma_m16n8k16_bf16(d, a, b);
    else
        mma_m16n8k16_fp16(d, a, b);
}
