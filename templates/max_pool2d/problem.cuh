// problem.cuh: the problem that the kernels of max_pool2d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 32
#define C 64
#define H 512
#define W 512
#define KERNEL_H 4
#define KERNEL_W 4
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 1
#define PADDING_W 1
#define DILATION_H 1
#define DILATION_W 1
#define CEIL_MODE 0
#define SPAN_H 4
#define SPAN_W 4
#define H_OUT 511
#define W_OUT 511
#endif
