// packed_gemm.cuh: the mainloop of packed operands (slab_operands.cuh): packed_gemm is the whole kernel. Warpgroups
// multiply on Hopper, warps on other GPUs.
#pragma once
#if WARPGROUPS
#include "packed_operands.cuh"
#else
#include "mma_gemm.cuh"
#endif
