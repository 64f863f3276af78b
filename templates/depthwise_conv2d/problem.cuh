// problem.cuh: the problem that the kernels of depthwise_conv2d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 16
#define C 64
#define H 512
#define W 512
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 0
#define PADDING_W 0
#define DILATION_H 1
#define DILATION_W 1
#define BIAS 0
#define SPAN_H 3
#define SPAN_W 3
#define H_OUT 510
#define W_OUT 510
#endif
