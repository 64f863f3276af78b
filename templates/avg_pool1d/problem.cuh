// problem.cuh: the problem that the kernels of avg_pool1d are compiled for. autotune
// defines these macros. The values here, op.yaml's example, are for editors and nvcc.
#pragma once
#ifndef N
#define N 64
#define C 128
#define W 65536
#define KERNEL 8
#define STRIDE 1
#define PADDING 4
#define CEIL_MODE 0
#define COUNT_INCLUDE_PAD 1
#define W_OUT 65537
#endif
