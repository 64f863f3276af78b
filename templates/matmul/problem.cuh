// problem.cuh: the problem's sizes, as op.yaml names them. autotune defines them
// for each compilation; the values here, of the example, let an editor and nvcc
// read a kernel's file alone.
#pragma once
#ifndef M
#define BATCH 1
#define M 4096
#define K 4096
#define N 4096
#define TYPE f32
#define TRANSPOSE_A 0
#define TRANSPOSE_B 0
#define BROADCAST_A 0
#define BROADCAST_B 0
#define BATCHES_A 1
#define BATCHES_B 1
#define BIAS 0
#define MATH_TF32 0
#endif
