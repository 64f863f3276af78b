// wgmma_shared.cuh, emulated, as wgmma.cuh is.
#pragma once

template <class A, class B = A>
struct EmulatedSharedWgmma {
    float* d;
    A a;
    B b;
    bool add;
    int first_row = int(threadIdx.x / 32 % 4 * 16);  // of the warp's rows
    static unsigned word(void** lanes, int row, int half, int at) {
        const EmulatedSharedWgmma& all = *static_cast<EmulatedSharedWgmma*>(lanes[0]);
        return emulated_word(all.a, all.first_row + row, half, at);
    }
};

template <int Columns>
inline void wgmma_tf32(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    emulated_wgmma_start<Columns, 8, emulated_tf32>(EmulatedSharedWgmma<Slabs>{d, a, b, add});
}
template <int Columns>
inline void wgmma_bf16(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    emulated_wgmma_start<Columns, 16, emulated_bf16>(EmulatedSharedWgmma<Slabs>{d, a, b, add});
}
template <int Columns>
inline void wgmma_fp16(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    emulated_wgmma_start<Columns, 16, emulated_fp16>(EmulatedSharedWgmma<Slabs>{d, a, b, add});
}
template <int Groups> inline void wgmma_wait_groups() { emulated_wgmma_wait(Groups); }
