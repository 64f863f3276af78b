// tensor_map.cuh: copies boxes (up to three-dimensional tiles) of a tensor into shared memory by Hopper's TMA
// (compiled for sm_90a). One thread requests a box by the coordinates of the box's first element.
//
// TMA rounds floats to TF32 on the way (ties to even), and fills elements outside of the tensor with zeros.
//
// With swizzling, a box consists of rows of 128 or 64 bytes, and TMA permutes the 16-byte chunks of each row to avoid
// bank conflicts. Chunk p of a 128-byte row r is stored as chunk p ^ (r % 8), and chunk p of a 64-byte row r as chunk
// p ^ (r / 2 % 4). A box must begin at a multiple of eight rows in shared memory, and at a multiple of 16 bytes in
// the tensor; otherwise TMA faults with an illegal instruction.
//
// Without swizzling, a box begins at a multiple of 128 bytes in shared memory, and the size of its rows is a multiple
// of 16 bytes.
//
// The host creates the maps from `tensor_maps` in op.yaml. A kernel takes each map as a parameter `const
// __grid_constant__ TensorMap map`.
#pragma once
#include "mbarrier.cuh"

struct alignas(64) TensorMap {
    unsigned long long words[16];
};

#ifndef AUTOTUNE_EMULATOR

// prefetch_tensor_map prefetches a tensor map before its first use.
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// tensor_load starts a TMA load of the box that begins at element `at`. The mbarrier `barrier` counts the bytes that
// have arrived.
__device__ __forceinline__ void tensor_load(void* shared, const TensorMap* map, const int (&at)[3], Mbarrier* barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 :
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]),
                   "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
                 : "memory");
}
__device__ __forceinline__ void tensor_load(void* shared, const TensorMap* map, const int (&at)[5], Mbarrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
        :
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
          "r"(at[4]), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
        : "memory");
}

#else
#include <emulated/tensor_map.cuh>
#endif

// MappedOperands contains the tensor maps of a matrix product's operands A (rows) and B (columns).
struct MappedOperands {
    const TensorMap *rows, *columns;
    __device__ __forceinline__ void prefetch() const {
        prefetch_tensor_map(rows);
        prefetch_tensor_map(columns);
    }
};
