// tensor_map.cuh: copies of boxes of a tensor into shared memory by Hopper's copy engine
// (TMA; compiled for sm_90a). A tensor map tells the engine where the tensor is and what a
// box of it is; one thread asks for a box by the place of its first element.
//
// The engine does on the way what threads would have to do else:
//
//   rounded   it rounds floats to TF32, to the nearest, ties to even
//   outside   what lies outside of the tensor arrives as zeros
//   swizzle   a box is rows of 128 bytes; the 16-byte piece p of row r lies where piece
//             p ^ (r % 8) would, so that a column of pieces shares no banks. Of rows of 64 bytes
//             that is piece p ^ (r / 2 % 4)
//
// A row is the box's first axis, of 32 floats or 64 elements of 16 bits, or half of them; rows follow
// each other in the order of the other axes. A box begins at a multiple of eight rows in shared
// memory, and in the tensor at a multiple of 16 bytes of a row: elsewhere the engine faults
// with an illegal instruction.
//
// Without swizzle a box begins at a multiple of 128 bytes, and its rows may be any multiple of 16
// bytes up to 256 elements.
//
// Maps come from the host, by what `tensor_maps` of op.yaml say. A kernel takes each as a parameter
// `const __grid_constant__ TensorMap map`, and gives its address to the functions below.
#pragma once
#include "mbarrier.cuh"

struct alignas(64) TensorMap {
    unsigned long long words[16];
};

#ifndef AUTOTUNE_EMULATOR

// prefetch_tensor_map brings a map to where the copy engine reads it, before its first load.
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// tensor_load starts copying the box that begins at an element, which may lie outside;
// the box's bytes count as arrived at `barrier` when they are there.
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

// MappedOperands are the maps of a product's rows and columns.
struct MappedOperands {
    const TensorMap *rows, *columns;
    __device__ __forceinline__ void prefetch() const {
        prefetch_tensor_map(rows);
        prefetch_tensor_map(columns);
    }
};
