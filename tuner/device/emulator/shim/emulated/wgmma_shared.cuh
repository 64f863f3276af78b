// wgmma_shared.cuh, emulated, as wgmma.cuh is.
#pragma once

template <class Operand>
struct EmulatedSharedWgmma {
    float* d;
    Operand a, b;
    bool add;
    int first_row;  // of the warp's rows
    static unsigned word(void** lanes, int row, int half, int at) {
        const EmulatedSharedWgmma& all = *static_cast<EmulatedSharedWgmma*>(lanes[0]);
        return emulated_word(all.a, all.first_row + row, half, at);
    }
};

template <int Columns>
inline void wgmma_tf32(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    EmulatedSharedWgmma<Slabs> mine = {d, a, b, add, int(threadIdx.x / 32 % 4 * 16)};
    autotune_warp_meet(0xffffffffu, "wgmma_tf32", &mine, emulated_wgmma_tf32_work<Columns, EmulatedSharedWgmma<Slabs>>);
}
template <int Columns>
inline void wgmma_bf16(float (&d)[Columns / 2], const Slabs& a, const Slabs& b, bool add) {
    EmulatedSharedWgmma<Slabs> mine = {d, a, b, add, int(threadIdx.x / 32 % 4 * 16)};
    autotune_warp_meet(0xffffffffu, "wgmma_bf16", &mine, emulated_wgmma_bf16_work<Columns, EmulatedSharedWgmma<Slabs>>);
}
template <int Groups> inline void wgmma_wait_groups() {}
