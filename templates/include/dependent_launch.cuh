// dependent_launch.cuh: programmatic dependent launch (sm_90 and later), for launches that op.yaml marks as
// `dependent`.
//
//   The first kernel calls begin_dependents() when the next kernel may start.
//   The next kernel calls wait_for_launches() in every thread before it reads the first kernel's results.
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
