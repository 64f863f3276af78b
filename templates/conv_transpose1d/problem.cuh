// problem.cuh: the problem's sizes, as op.yaml names them. autotune defines them
// for each compilation; the values here, of the example, let an editor and nvcc
// read a kernel's file alone.
#pragma once
#ifndef N
#define BIAS 0
#define C 512
#define C_GROUP 512
#define C_OUT 256
#define C_OUT_GROUP 256
#define DILATION 1
#define DILATION_W 1
#define FAN_IN 768
#define GROUPS 1
#define KERNEL 3
#define KERNEL_W 3
#define MATH_TF32 0
#define N 16
#define OUTPUT_PADDING 0
#define PADDING 0
#define PADDING_W 0
#define SPAN_W 3
#define STRIDE 1
#define STRIDE_W 1
#define W 800
#define W_OUT 802
#endif
