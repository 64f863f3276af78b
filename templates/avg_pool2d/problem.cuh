// problem.cuh: the problem that the kernels of avg_pool2d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 16
#define C 64
#define H 2048
#define W 2048
#define KERNEL_H 11
#define KERNEL_W 11
#define STRIDE_H 11
#define STRIDE_W 11
#define PADDING_H 0
#define PADDING_W 0
#define CEIL_MODE 0
#define COUNT_INCLUDE_PAD 1
#define H_OUT 186
#define W_OUT 186
#endif

// A window of average pooling is never dilated; the shared headers know windows that are.
#define DILATION_H 1
#define DILATION_W 1
#define SPAN_H KERNEL_H
#define SPAN_W KERNEL_W
