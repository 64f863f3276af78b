// packed_gemm.cuh: packed_gemm is the main function of kernels with packed operands (slab_operands.cuh). packed_gemm
// multiplies by warpgroup products on Hopper, and by mma.sync on other GPUs.
#pragma once
#if WARPGROUPS
#include "packed_operands.cuh"
#else
#include "mma_gemm.cuh"
#endif
