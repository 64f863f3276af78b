// dependent_launch.cuh: launches that begin before the one before them has ended (`dependent` in
// op.yaml; programmatic dependent launch, from compute capability 9.0 on), so that
// the GPU brings up their blocks while the last blocks of the other still run.
//
//   the first kernel    begin_dependents(), when the next launch's blocks may come
//   the next one        whatever needs nothing of the first, then wait_for_launches(), which every thread
//                       calls: what all launches before wrote is there
//
// Where the launch is not dependent, neither does anything.
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
