// dependent_launch.cuh: launches that begin before the previous launch has ended (`dependent` in op.yaml; programmatic
// dependent launch, from compute capability 9.0 on): the GPU starts their blocks while the last blocks of the previous
// launch still run.
//
//   the first kernel    calls begin_dependents() when the blocks of the next launch may start.
//   the next kernel     does what does not depend on the first one; then every thread calls wait_for_launches(),
//                       after which all writes of earlier launches are visible.
//
// If the next launch is not dependent, begin_dependents and wait_for_launches do nothing.
#pragma once

#ifndef AUTOTUNE_EMULATOR

__device__ __forceinline__ void begin_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_launches() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#else
#include <emulated/dependent_launch.cuh>
#endif
