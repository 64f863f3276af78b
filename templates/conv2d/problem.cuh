// problem.cuh: the problem's sizes, as op.yaml names them. autotune defines them
// for each compilation; the values here, of the example, let an editor and nvcc
// read a kernel's file alone.
#pragma once
#ifndef N
#define N 16
#define C 16
#define H 1024
#define W 1024
#define C_OUT 128
#define KERNEL_H 3
#define KERNEL_W 3
#define STRIDE_H 1
#define STRIDE_W 1
#define PADDING_H 0
#define PADDING_W 0
#define DILATION_H 1
#define DILATION_W 1
#define GROUPS 1
#define BIAS 0
#define SPAN_H 3
#define SPAN_W 3
#define H_OUT 1022
#define W_OUT 1022
#define C_GROUP 16
#define C_OUT_GROUP 128
#define FAN_IN 144
#define PLANE 1044484
#define TAP_REACH 2
#define PITCH 1024
#define MATH_TF32 0
#endif
