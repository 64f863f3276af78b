// problem.cuh: the problem's sizes, as op.yaml names them. autotune defines them
// for each compilation; the values here, of the example, let an editor and nvcc
// read a kernel's file alone.
#pragma once
#ifndef N
#define BIAS 0
#define C 64
#define C_GROUP 64
#define C_OUT 128
#define C_OUT_GROUP 128
#define D 16
#define DILATION_D 1
#define DILATION_H 1
#define DILATION_W 1
#define D_OUT 14
#define FAN_IN 1728
#define GROUPS 1
#define H 56
#define H_OUT 54
#define KERNEL_D 3
#define KERNEL_H 3
#define KERNEL_W 3
#define MATH_TF32 0
#define N 8
#define PADDING_D 0
#define PADDING_H 0
#define PADDING_W 0
#define SPAN_D 3
#define SPAN_H 3
#define SPAN_W 3
#define STRIDE_D 1
#define STRIDE_H 1
#define STRIDE_W 1
#define W 56
#define W_OUT 54
#endif
