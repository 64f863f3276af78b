// problem.cuh: the problem that the kernels of max_pool1d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 64
#define C 192
#define W 65536
#define KERNEL 8
#define STRIDE 1
#define PADDING 4
#define DILATION 3
#define CEIL_MODE 0
#define SPAN_W 22
#define W_OUT 65523
#endif

// A row is a volume of one slice and one row for the shared headers.
#define D 1
#define H 1
#define D_OUT 1
#define H_OUT 1
#define KERNEL_D 1
#define KERNEL_H 1
#define KERNEL_W KERNEL
#define STRIDE_D 1
#define STRIDE_H 1
#define STRIDE_W STRIDE
#define PADDING_D 0
#define PADDING_H 0
#define PADDING_W PADDING
#define DILATION_D 1
#define DILATION_H 1
#define DILATION_W DILATION
#define SPAN_D 1
#define SPAN_H 1
