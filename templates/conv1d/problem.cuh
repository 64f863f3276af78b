// problem.cuh: the problem's sizes, as op.yaml names them. autotune defines them
// for each compilation; the values here, of the example, let an editor and nvcc
// read a kernel's file alone.
#pragma once
#ifndef N
#define BIAS 0
#define C 128
#define C_GROUP 128
#define C_OUT 128
#define C_OUT_GROUP 128
#define DILATION 1
#define DILATION_W 1
#define FAN_IN 384
#define GROUPS 1
#define KERNEL 3
#define KERNEL_W 3
#define MATH_TF32 0
#define N 16
#define PADDING 0
#define PADDING_W 0
#define SPAN_W 3
#define STRIDE 1
#define STRIDE_W 1
#define W 16000
#define W_OUT 15998
#endif
