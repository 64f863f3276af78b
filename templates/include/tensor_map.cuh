// tensor_map.cuh: copies boxes of a tensor into shared memory by Hopper's copy engine (TMA; compiled for sm_90a). A
// tensor map describes the tensor and the size of its boxes; one thread requests a box by the coordinates of its first
// element.
//
// The engine also does work that threads would have to do otherwise:
//
//   rounded:  floats are rounded to TF32, to nearest, ties to even.
//   outside:  elements outside of the tensor arrive as zeros.
//   swizzle:  a box consists of rows of 128 bytes; the 16-byte piece p of row r is stored at the place of
//             piece p ^ (r % 8), which avoids bank conflicts within a column of pieces. In rows of 64
//             bytes, piece p is stored at the place of piece p ^ (r / 2 % 4).
//
// A row is the box's first axis: 32 floats, 64 elements of 16 bits, or half of them. A box is stored row after row, and
// from row to row the index along the box's second axis varies fastest. A box begins at a multiple of eight rows in
// shared memory, and in the tensor at a multiple of 16 bytes of a row: otherwise the engine faults with an illegal
// instruction.
//
// Without swizzle a box begins at a multiple of 128 bytes, and its rows may be any multiple of 16 bytes up to 256
// elements.
//
// The host creates the maps from `tensor_maps` in op.yaml. A kernel takes each map as a parameter `const
// __grid_constant__ TensorMap map`, and passes its address to the functions below.
#pragma once
#include "mbarrier.cuh"

struct alignas(64) TensorMap {
    unsigned long long words[16];
};

#ifndef AUTOTUNE_EMULATOR

// prefetch_tensor_map prefetches a map for the copy engine, before the first load that uses it.
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// tensor_load starts copying the box that begins at element `at`, which may lie outside of the tensor; the barrier
// `barrier` counts the box's bytes when they have arrived.
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

// MappedOperands contains the tensor maps of a product's rows and columns.
struct MappedOperands {
    const TensorMap *rows, *columns;
    __device__ __forceinline__ void prefetch() const {
        prefetch_tensor_map(rows);
        prefetch_tensor_map(columns);
    }
};
