// channel_boxes.cuh: how convolution_tma_channels.cu has elements of k in shared memory: floats, 32 in
// 128 bytes (swizzled_operands.cuh). For bf16 and fp16 channel_boxes_16bit.cuh stands for it.
#pragma once
#define ROWS_ALONG_K 1
#include "element.cuh"
#include "place.cuh"
#include "swizzled_operands.cuh"

typedef Element Factor;
typedef SwizzledProducts BoxProducts;
