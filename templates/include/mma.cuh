// mma.cuh: D = A * B + D on tensor cores (sm_80 on), by all 32 lanes of a warp.
//
// Who holds what, with g = lane / 4 and t = lane % 4 (PTX ISA, "Matrix Fragments"):
//
//   m16n8k8, TF32: a register is one element
//     a[0] row g    column t       a[2] row g    column t+4
//     a[1] row g+8  column t       a[3] row g+8  column t+4
//     b[0] row t    column g       b[1] row t+4  column g
//   m16n8k16, bf16: a register is two elements, the lower index in the lower half
//     a[0] row g    columns 2t,2t+1      a[2] row g    columns 2t+8,2t+9
//     a[1] row g+8  columns 2t,2t+1      a[3] row g+8  columns 2t+8,2t+9
//     b[0] rows 2t,2t+1  column g        b[1] rows 2t+8,2t+9  column g
//   d, both: d[0], d[1] row g columns 2t,2t+1;  d[2], d[3] row g+8, the same columns
//
// Products are exact and sums are float. The order of products is the program's
// (asm volatile): a kernel alternates between sums, since successive products of
// the same sums wait for each other, and a compiler short of registers undoes that.
#pragma once

#ifdef AUTOTUNE_EMULATOR

// What a lane brings to a product, and takes home.
struct EmulatedMma {
    float* d;
    const unsigned *a, *b;
};

// One lane multiplies for all: at(registers, ...) reads element (row, k) of A and
// (k, column) of B out of the lanes that hold them.
template <int K, class A, class B>
inline void emulated_mma(void** lanes, A a_at, B b_at) {
    auto lane_at = [&](int lane) -> const EmulatedMma& { return *static_cast<EmulatedMma*>(lanes[lane]); };
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column) {
            float& d = lane_at(row % 8 * 4 + column / 2).d[row / 8 * 2 + column % 2];
            double sum = d;
            for (int k = 0; k < K; ++k) sum += (double)a_at(lane_at, row, k) * b_at(lane_at, k, column);
            d = (float)sum;
        }
    }
}

inline void emulated_mma_whole_warp(unsigned members) { assert(members == 0xffffffffu && "mma needs all 32 lanes"); }

// Tensor cores do not look at the 13 bits that TF32 lacks.
inline float emulated_tf32(unsigned bits) { return __uint_as_float(bits & 0xffffe000u); }
inline float emulated_bf16(unsigned pair, int upper) { return __uint_as_float(upper ? pair & 0xffff0000u : pair << 16); }

inline void emulated_mma_tf32(void** lanes, unsigned members) {
    emulated_mma_whole_warp(members);
    emulated_mma<8>(
        lanes, [](auto& at, int row, int k) { return emulated_tf32(at(row % 8 * 4 + k % 4).a[row / 8 + k / 4 * 2]); },
        [](auto& at, int k, int column) { return emulated_tf32(at(column * 4 + k % 4).b[k / 4]); });
}

inline void emulated_mma_bf16(void** lanes, unsigned members) {
    emulated_mma_whole_warp(members);
    emulated_mma<16>(
        lanes,
        [](auto& at, int row, int k) { return emulated_bf16(at(row % 8 * 4 + k % 8 / 2).a[row / 8 + k / 8 * 2], k % 2); },
        [](auto& at, int k, int column) { return emulated_bf16(at(column * 4 + k % 8 / 2).b[k / 8], k % 2); });
}

#endif

// mma_m16n8k8_tf32 adds a 16 x 8 by 8 x 8 product of TF32 operands to d.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(AUTOTUNE_EMULATOR)
    EmulatedMma mine = {d, a, b};
    autotune_warp_meet(0xffffffffu, "mma_m16n8k8_tf32", &mine, emulated_mma_tf32);
#elif __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap(); // no such instruction before sm_80
#endif
}

// mma_m16n8k16_bf16 adds a 16 x 16 by 16 x 8 product of bf16 operands to d.
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(AUTOTUNE_EMULATOR)
    EmulatedMma mine = {d, a, b};
    autotune_warp_meet(0xffffffffu, "mma_m16n8k16_bf16", &mine, emulated_mma_bf16);
#elif __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap(); // no such instruction before sm_80
#endif
}
