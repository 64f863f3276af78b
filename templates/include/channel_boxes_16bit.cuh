// channel_boxes_16bit.cuh: channel_boxes.cuh of bf16 and fp16: 64 elements of k in 128 bytes (swizzled_16bit.cuh).
// Where factors are scaled, they are fp16 made of floats (power_scale.cuh).
#pragma once
#include "element.cuh"
#define PARTS (kOfBf16 ? one_bf16 : one_fp16)
#include "place.cuh"
#include "swizzled_16bit.cuh"

#if SCALED
typedef f16 Factor;
#else
typedef Element Factor;
#endif
typedef MappedProducts BoxProducts;
struct BoxWork : ConvolutionWork {
    static constexpr bool kRowsAlongK = true, kColumnsAlongK = true;
};
