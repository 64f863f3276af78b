// packed_gemm.cuh: the body of matrix-product kernels whose operands an earlier launch has packed
// (slab_operands.cuh). packed_gemm uses wgmma on Hopper and mma.sync on other GPUs.
#pragma once
#if WARPGROUPS
#include "packed_operands.cuh"
#else
#include "mma_gemm.cuh"
#endif
