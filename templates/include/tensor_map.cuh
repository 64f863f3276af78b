// tensor_map.cuh: copies of boxes of a tensor into shared memory by Hopper's copy engine
// (TMA; compiled for sm_90a). A tensor map tells the engine where the tensor is and what a
// box of it is; one thread asks for a box by the place of its first element.
//
// The engine does on the way what threads would have to do else:
//
//   TF32      it rounds floats, to the nearest, ties to even; elements of 16 bits stay as they are
//   outside   what lies outside of the tensor arrives as zeros
//   swizzle   a box is rows of 128 bytes; the 16-byte piece p of row r lies where piece
//             p ^ (r % 8) would, so that a column of pieces shares no banks
//
// A row is the box's first axis, of 32 floats or 64 elements of 16 bits; rows follow each
// other in the order of the other axes. A box begins at a multiple of 1024 bytes in shared
// memory, and in the tensor at a multiple of 16 bytes of a row: elsewhere the engine faults
// with an illegal instruction.
//
// An exact box has floats as they are. A plain one does not swizzle them either: its rows may be
// any multiple of 16 bytes up to 256 floats, and it begins at a multiple of 128 bytes.
//
// Maps are made on the GPU, by a launch before the one that uses them: a warp calls
// make_tensor_map() with a place for the map in shared memory, and every thread that loads
// calls use_tensor_map() once.
#pragma once
#include "mbarrier.cuh"

struct alignas(128) TensorMap {
    unsigned long long words[16];
};

enum class BoxForm { swizzled, exact, plain };

// TensorBox is what a map is made of: the tensor's extents, how many elements apart
// neighbours along each axis are (the first axis: 1; the others: a multiple of 16 bytes),
// and the box's extents. Its elements lie `steps` apart along each axis, 8 at most; 0 stands
// for 1. An extent times its step is 256 at most.
template <int Rank, class T = float, BoxForm Form = BoxForm::swizzled>
struct TensorBox {
    const T* first;  // aligned to 16 bytes
    unsigned extents[Rank];
    long long apart[Rank];
    unsigned box[Rank];
    unsigned steps[Rank];
    __device__ __forceinline__ unsigned step(int axis) const { return steps[axis] > 1 ? steps[axis] : 1; }
};

#ifndef AUTOTUNE_EMULATOR

#define TENSOR_MAP_SET(FIELD, WIDTH, ...) \
    asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." WIDTH " [%0], " __VA_ARGS__ : "memory")

// set_tensor_axes sets what a map says of each axis from Axis on; the instructions want
// the axis as a constant.
template <int Axis, int Rank, class T, BoxForm Form>
__device__ __forceinline__ void set_tensor_axes(unsigned map, const TensorBox<Rank, T, Form>& of) {
    if constexpr (Axis < Rank) {
        TENSOR_MAP_SET("global_dim", "b32", "%1, %2;" ::"r"(map), "n"(Axis), "r"(of.extents[Axis]));
        TENSOR_MAP_SET("box_dim", "b32", "%1, %2;" ::"r"(map), "n"(Axis), "r"(of.box[Axis] * of.step(Axis)));
        TENSOR_MAP_SET("element_stride", "b32", "%1, %2;" ::"r"(map), "n"(Axis), "r"(of.step(Axis)));
        if constexpr (Axis > 0)
            TENSOR_MAP_SET("global_stride", "b64", "%1, %2;" ::"r"(map), "n"(Axis - 1), "l"(static_cast<long long>(sizeof(T)) * of.apart[Axis]));
        set_tensor_axes<Axis + 1>(map, of);
    }
}

// make_tensor_map makes a map in global memory. All of a warp calls it; scratch is in
// shared memory.
template <int Rank, class T, BoxForm Form>
__device__ __forceinline__ void make_tensor_map(TensorMap* map, TensorMap* scratch, const TensorBox<Rank, T, Form>& of) {
    constexpr bool plain = Form == BoxForm::plain;
    static_assert(Form == BoxForm::swizzled || sizeof(T) == 4, "exact and plain boxes are of floats");
    const int lane = threadIdx.x % 32;
    if (lane < 16) scratch->words[lane] = 0;
    __syncwarp();
    if (lane == 0) {
        const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(scratch));
        TENSOR_MAP_SET("global_address", "b64", "%1;" ::"r"(at), "l"(of.first));
        TENSOR_MAP_SET("rank", "b32", "%1;" ::"r"(at), "n"(Rank - 1));
        set_tensor_axes<0>(at, of);
        TENSOR_MAP_SET("elemtype", "b32", "%1;" ::"r"(at), "n"(Form != BoxForm::swizzled ? 7 : sizeof(T) == 4 ? 11 : 1));  // float, TF32, or 16 bits
        TENSOR_MAP_SET("interleave_layout", "b32", "0;" ::"r"(at));  // none
        const unsigned line = plain ? 0 : of.box[0] * sizeof(T);  // which is constant
        if (line == 0) TENSOR_MAP_SET("swizzle_mode", "b32", "0;" ::"r"(at));
        if (line == 64) TENSOR_MAP_SET("swizzle_mode", "b32", "2;" ::"r"(at));
        if (line == 128) TENSOR_MAP_SET("swizzle_mode", "b32", "3;" ::"r"(at));
        TENSOR_MAP_SET("fill_mode", "b32", "0;" ::"r"(at));          // zeros
    }
    __syncwarp();
    if (lane < 16) map->words[lane] = scratch->words[lane];
    __syncwarp();
}

// use_tensor_map makes a map that another launch wrote known to the copy engine.
__device__ __forceinline__ void use_tensor_map(const TensorMap* map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
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
