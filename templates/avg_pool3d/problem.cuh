// problem.cuh: the problem that the kernels of avg_pool3d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 16
#define C 32
#define D 128
#define H 128
#define W 256
#define KERNEL_D 3
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_D 2
#define STRIDE_H 2
#define STRIDE_W 2
#define PADDING_D 1
#define PADDING_H 1
#define PADDING_W 1
#define CEIL_MODE 0
#define COUNT_INCLUDE_PAD 1
#define DIVISOR_OVERRIDE 0
#define D_OUT 64
#define H_OUT 64
#define W_OUT 128
#endif

// A window of average pooling is never dilated; the shared headers know windows that are.
#define DILATION_D 1
#define DILATION_H 1
#define DILATION_W 1
#define SPAN_D KERNEL_D
#define SPAN_H KERNEL_H
#define SPAN_W KERNEL_W
