// problem.cuh: the problem that the kernels of max_pool3d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 16
#define C 32
#define D 128
#define H 128
#define W 128
#define KERNEL_D 3
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_D 2
#define STRIDE_H 2
#define STRIDE_W 2
#define PADDING_D 1
#define PADDING_H 1
#define PADDING_W 1
#define DILATION_D 3
#define DILATION_H 3
#define DILATION_W 3
#define CEIL_MODE 0
#define SPAN_D 7
#define SPAN_H 7
#define SPAN_W 7
#define D_OUT 62
#define H_OUT 62
#define W_OUT 62
#endif
